#include "judge/judge.h"

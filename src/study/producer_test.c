#include "study/producer.h"

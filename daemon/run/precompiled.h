#pragma once

// What most wings include, precompiled where each is compiled as one file (CMAKE_UNITY_BUILD).

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <iostream>

#include "config/config.h"
#include "count/collector.h"
#include "plan/load_plan.h"
#include "standard_headers.h"

/* Names as demanglers write them, and as people see them. */
#include <stdlib.h>
#include <string.h>

#include "base/names/simple_name.h"
#include "tests/asserts.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static void expect(enum ttp_name_detail detail, const char *name, const char *wanted)
{
    /* exact sizes, so that one byte too far is found */
    size_t size = strlen(name);
    char *copy = malloc(size + (size == 0)), *out = malloc(TTP_SIMPLE_NAME_BYTES(size));
    memcpy(copy, name, size);
    size_t written = ttp_simple_name(out, copy, size, detail);
    ck_assert_str_eq(out, wanted);
    ck_assert_uint_eq(written, strlen(wanted));
    free(copy);
    free(out);
}

static void short_is(const char *name, const char *wanted) { expect(TTP_NAME_SHORT, name, wanted); }

static void stays(const char *name)
{
    for (int i = 0; i < TTP_NAME_DETAILS; i++)
        expect((enum ttp_name_detail)i, name, name);
}

START_TEST(functions_and_templates)
{
    short_is("app::fill(int)", "app::fill");
    short_is("void app::fill<int>(std::vector<int, std::allocator<int> >&, int)", "app::fill");
    short_is("int& std::vector<int, std::allocator<int> >::emplace_back<int>(int&&)",
             "std::vector<…>::emplace_back");
    short_is("std::map<" STRING ", int>::operator[](" STRING " const&)", "std::map<…>::operator[]");
    short_is("unsigned long const* const& f<int>(int)", "f");
    short_is("A::A(A const&)", "A::A");
    short_is("A<int>::~A()", "A<…>::~A");
    short_is("A::get() const", "A::get");
    short_is("A::get() const &", "A::get");
    short_is("A::get() volatile &&", "A::get");
    short_is("f(void (*)(int), int (&) [3])", "f");
    short_is("f(int) [clone .cold]", "f [clone .cold]");
    short_is("f(int) [clone .isra.0] [clone .part.1]", "f [clone .isra.0] [clone .part.1]");
    short_is("f(int) (.llvm.123)", "f (.llvm.123)");
    short_is("f(int)@plt", "f@plt");
    short_is("void f<int>(int) requires (std::integral<int>)", "f");
    short_is("f[abi:cxx11](int)", "f");
    short_is("A::f[abi:v1][abi:v2]() const", "A::f");
    short_is("std::enable_if<((sizeof (int))>(4ul)), int>::type g<int>(int)", "g");
    short_is("std::enable_if<((1)>(0)), int>::type g<int>(int)", "g");
    short_is("void g<&A::operator->>(int)", "g");
    short_is("void g<&(A::operator<(A const&))>(int)", "g");
    short_is("decltype ((declval<int>)()) g<int>(int)", "g");
    short_is("decltype(auto) g<int>(int)", "g");
    short_is("auto g<int>(int)", "g");
}
END_TEST

START_TEST(operators)
{
    short_is("A::operator()(int) const", "A::operator()");
    short_is("A::operator<(A const&) const", "A::operator<");
    short_is("bool operator< <int>(A<int> const&, A<int> const&)", "operator<");
    short_is("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
             "std::operator<<");
    short_is("std::ostream& operator<<(std::ostream&, A const&)", "operator<<");
    short_is("A::operator<=>(A const&) const", "A::operator<=>");
    short_is("A::operator->() const", "A::operator->");
    short_is("A::operator->*(int) const", "A::operator->*");
    short_is("A::operator,(int)", "A::operator,");
    short_is("A::operator new(unsigned long)", "A::operator new");
    short_is("operator delete[](void*, unsigned long)", "operator delete[]");
    short_is("operator\"\" _km(unsigned long long)", "operator\"\" _km");
    short_is("A::operator bool() const", "A::operator bool");
    short_is("A::operator " STRING "() const", "A::operator std::string");
    short_is("A::operator std::vector<int, std::allocator<int> >() const",
             "A::operator std::vector");
    short_is("A::operator int (*)(int)() const", "A::operator int (*)(int)");
    short_is("A::operator unsigned long&&()", "A::operator unsigned long&&");
    short_is("A::operator int<int>()", "A::operator int");
    short_is("operator_of(int)", "operator_of");
    short_is("my_operator(int)", "my_operator");
}
END_TEST

START_TEST(strings_and_streams)
{
    short_is(STRING "::append(char const*)", "std::string::append");
    short_is(STRING "::basic_string(char const*)", "std::string::string");
    short_is(STRING "::~basic_string()", "std::string::~string");
    short_is(STRING "::basic_string<std::allocator<char> >(char const*)", "std::string::string");
    short_is("std::basic_string_view<char, std::char_traits<char> >::find(char, unsigned long)",
             "std::string_view::find");
    short_is("std::basic_ostream<wchar_t, std::char_traits<wchar_t> >::flush()",
             "std::wostream::flush");
    short_is("std::__1::basic_string<char32_t, std::__1::char_traits<char32_t>, "
             "std::__1::allocator<char32_t> >::size() const",
             "std::u32string::size");
    short_is("std::basic_string<my::letter, my::traits>::size() const",
             "std::basic_string<…>::size");
    short_is("std::__cxx11::to_string(int)", "std::to_string");
    short_is("std::chrono::_V2::steady_clock::now()", "std::chrono::_V2::steady_clock::now");
    short_is("std::_V2::error_category::name() const", "std::error_category::name");
    short_is("my::__1::f(int)", "my::__1::f");
}
END_TEST

START_TEST(local_names)
{
    short_is("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
    short_is("app::(anonymous namespace)::L::operator()(int) const",
             "app::(anonymous namespace)::L::operator()");
    short_is("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()");
    short_is("f(int)::{lambda()#2}::operator()() const", "f::{lambda#2}::operator()");
    short_is("A::f(int) const::{lambda(auto:1)#1}::_FUN(int)", "A::f::{lambda#1}::_FUN");
    short_is("auto f<int>(int)::{lambda()#1}::operator()<int>(int) const",
             "f<…>::{lambda#1}::operator()");
    short_is("f()::'lambda'(int)::operator()(int) const", "f::'lambda'::operator()");
    short_is("f()::$_0::operator()(int) const", "f::$_0::operator()");
    short_is("f(int)::Local::go()", "f::Local::go");
    short_is("f(int)::{unnamed type#1}::go()", "f::{unnamed type#1}::go");
    short_is("A::operator int()::{lambda()#1}::operator()() const",
             "A::operator int::{lambda#1}::operator()");
    short_is("void (*pick<int>(int))(char)", "pick");
    short_is("void (*A::pick(int))(char)", "A::pick");
    short_is("int (A::*pick<int>(int) const)(char)", "pick");
    short_is("non-virtual thunk to A::f(int)", "non-virtual thunk to A::f");
    short_is("global constructors keyed to a.cpp", "global constructors keyed to a.cpp");
    short_is("TLS init function for A<int>::x", "TLS init function for A<…>::x");
}
END_TEST

START_TEST(rust_names)
{
    short_is("mycrate::foo", "mycrate::foo");
    short_is("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
             "<alloc::vec::Vec<…> as core::ops::drop::Drop>::drop");
    short_is("core::ptr::drop_in_place::<alloc::string::String>", "core::ptr::drop_in_place");
    short_is("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place");
    short_is("<[T]>::len", "<[T]>::len");
    short_is("a::b::{{closure}}", "a::b::{{closure}}");
    short_is("a::b::{closure#0}", "a::b::{closure#0}");
    short_is("<a::F<fn(u8) -> u8> as core::ops::Fn<(u8,)>>::call::{closure#1}",
             "<a::F<…> as core::ops::Fn<…>>::call::{closure#1}");
    short_is("<&mut I as core::iter::Iterator>::next", "<&mut I as core::iter::Iterator>::next");
}
END_TEST

START_TEST(others_stay)
{
    stays("");
    stays("main");
    stays("memcpy@plt");
    stays("foo.cold.0");
    stays("main.(*Tree).Insert");
    stays("main.Map[go.shape.int_0]");
    stays("$s4main3fooyyF");
    stays("camlStdlib__List__map_123");
    stays("_ZN1a1bEv");
    stays("<anonymous>");
    stays("<module>");
    stays("RunTask (main)");
    stays("Layout <div> of page");
    stays("two words");
    stays("f(int");
    stays("f(int)) x");
    stays("f<int(");
    stays("operator");
    stays("operator ");
    stays("(");
    stays("<");
    stays(">");
    stays("a > b");
    stays("()()");
    stays("(*)(int)");
    stays("f(int) and more");
    stays("::");
    stays("read-only");
}
END_TEST

START_TEST(more_detail)
{
    const char *at = "std::vector<std::pair<int, std::vector<char, std::allocator<char> > >, "
                     "std::allocator<std::pair<int, std::vector<char, std::allocator<char> > > "
                     "> >::at<" STRING ">(" STRING " const&, std::vector<A<int>, B>) const";
    expect(TTP_NAME_SHORT, at, "std::vector<…>::at");
    expect(TTP_NAME_ARGUMENTS, at, "std::vector<std::pair<…>>::at<std::string>");
    expect(TTP_NAME_PARAMETERS, at,
           "std::vector<…>::at<…>(std::string const&, std::vector<…>) const");
    expect(TTP_NAME_BOTH, at,
           "std::vector<std::pair<int, std::vector<…>>>::at<std::string>"
           "(std::string const&, std::vector<A<int>, B>) const");
    expect(TTP_NAME_ALL, at,
           "std::vector<std::pair<int, std::vector<char>>>::at<std::string>"
           "(std::string const&, std::vector<A<int>, B>) const");
    expect(TTP_NAME_PARAMETERS, "f(int) [clone .cold]", "f(int) [clone .cold]");
    expect(TTP_NAME_ARGUMENTS, "bool operator< <int>(A<int> const&)", "operator< <int>");
    expect(TTP_NAME_ARGUMENTS, "void g<A<> >()", "g<A<>>");
}
END_TEST

/* Whatever it is, it costs little and stays in bounds. */
START_TEST(hostile_names)
{
    static const char *const pieces[] = {
        "(",        "<",         ")",       ">",     "{",
        "operator", "operator<", "::",      "(a<",   "{lambda(",
        "[abi:",    " ",         "f<int>(", "std::", "basic_string<char",
        "void (*",  "decltype ("};
    char *name = malloc(TTP_SIMPLE_NAME_MAX),
         *out = malloc(TTP_SIMPLE_NAME_BYTES(TTP_SIMPLE_NAME_MAX));
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t piece = strlen(pieces[i]), size = 0;
        for (; size + piece < TTP_SIMPLE_NAME_MAX; size += piece)
            memcpy(name + size, pieces[i], piece);
        for (int detail = 0; detail < TTP_NAME_DETAILS; detail++)
            ck_assert_uint_le(ttp_simple_name(out, name, size, (enum ttp_name_detail)detail),
                              TTP_SIMPLE_NAME_BYTES(size) - 1);
    }
    free(name);
    free(out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simple_name");
    TCase *test_case = tcase_create("simple_name");
    tcase_add_test(test_case, functions_and_templates);
    tcase_add_test(test_case, operators);
    tcase_add_test(test_case, strings_and_streams);
    tcase_add_test(test_case, local_names);
    tcase_add_test(test_case, rust_names);
    tcase_add_test(test_case, others_stay);
    tcase_add_test(test_case, more_detail);
    tcase_add_test(test_case, hostile_names);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

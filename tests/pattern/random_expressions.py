"""Random function terms, of all kinds in each other, over the leaves of the rows that tests have."""

from __future__ import annotations

from random import Random

from heptox.pattern import Call, Constant, Leaf, Lookup, ValueExpression

_SIGNS = ("=", "!=", "<", ">=")
_CODES = (("a", "1"), ("", "2"), ("b", "x"))


def leaf(name: str) -> Leaf:
    return Leaf((name,))


def call(function: str, *arguments: ValueExpression | str | int) -> Call:
    return Call(function, tuple(Constant(str(each)) if isinstance(each, str | int) else each for each in arguments))


class RandomExpressions:
    """Expressions that are so many functions deep at most."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def any(self, depth: int) -> ValueExpression:
        return self.chance.choice((self.string, self.decimal, self.condition))(depth)

    def string(self, depth: int) -> ValueExpression:
        inner = depth - 1
        match self.chance.randrange(14 if depth > 0 else 3):
            case 0 | 1:
                return leaf(self.chance.choice("abn"))
            case 2:
                return Constant(self.chance.choice(("", "a", "b ", " x")))
            case 3:
                return call("concat", self.string(inner), self.string(inner))
            case 4:
                return call(self.chance.choice(("upper-case", "lower-case", "normalize-space")), self.string(inner))
            case 5:
                function = self.chance.choice(("substring-before", "substring-after"))
                return call(function, self.string(inner), self.string(inner))
            case 6:
                return call("substring", self.string(inner), self.integer(inner))
            case 7:
                return call("replace", self.string(inner), "[ab]", "<$0>")
            case 8:
                other = self.string(inner) if self.chance.random() < 0.5 else None
                return Lookup(self.string(inner), _CODES, other)
            case 9:
                return call("if", self.condition(inner), self.string(inner))
            case 10:
                return call("if", self.condition(inner), self.string(inner), self.string(inner))
            case 11:
                return self.decimal(inner)
            case 12:
                return call("format-date", leaf("d"), "[D].[M].[Y]")
        return call("xs:date", leaf("d"))

    def integer(self, depth: int) -> ValueExpression:
        inner = depth - 1
        match self.chance.randrange(4 if depth > 0 else 1):
            case 0:
                return Constant(str(self.chance.randint(-1, 3)))
            case 1:
                return call("string-length", self.string(inner))
            case 2:
                return call("-", self.integer(inner), self.integer(inner))
        return call("xs:integer", self.decimal(inner))

    def decimal(self, depth: int) -> ValueExpression:
        inner = depth - 1
        match self.chance.randrange(7 if depth > 0 else 2):
            case 0:
                return call("xs:decimal", leaf("n"))
            case 1:
                return call("xs:decimal", self.chance.choice(("1", "2", "0.5")))
            case 2:
                other = leaf("m") if self.chance.random() < 0.4 else self.decimal(inner)
                return call(self.chance.choice("+-"), self.decimal(inner), other)
            case 3:
                return call("round", call("div", self.decimal(inner), "4"), "1")
            case 4:
                return call("xs:integer", self.decimal(inner))
            case 5:
                return call("if", self.condition(inner), self.decimal(inner), self.decimal(inner))
        return call("round", call("div", self.decimal(inner), self.decimal(inner)), "3")

    def condition(self, depth: int) -> ValueExpression:
        inner = depth - 1
        match self.chance.randrange(9 if depth > 0 else 3):
            case 0:
                return call("exists", self.string(inner))
            case 1:
                return call(self.chance.choice(_SIGNS), call("concat", self.string(inner), ""), leaf("a"))
            case 2:
                return call(self.chance.choice(_SIGNS), leaf("n"), self.decimal(inner))
            case 3:
                return call("not", self.condition(inner))
            case 4:
                return call(self.chance.choice(("and", "or")), self.condition(inner), self.condition(inner))
            case 5:
                function = self.chance.choice(("contains", "starts-with", "ends-with"))
                return call(function, self.string(inner), self.string(inner))
            case 6:
                return call("matches", self.string(inner), "^[ab]*$")
            case 7:
                return call("<", call("number", self.string(inner)), self.decimal(inner))
        return call("=", self.decimal(inner), self.decimal(inner))

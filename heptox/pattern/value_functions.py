from heptox.pattern.value_expression import *


def evaluate(expression, leaf, leaves):
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Leaf):
        return leaf(expression.path)
    if isinstance(expression, StringJoin):
        v = leaves(expression.path)
        return expression.separator.join(v) if v else None
    if isinstance(expression, Call) and expression.function == "concat":
        a = [evaluate(x, leaf, leaves) for x in expression.arguments]
        return None if None in a else "".join(a)
    raise NotImplementedError

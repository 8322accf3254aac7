import subprocess
import sys

from likely import logic


def test_every_public_name_loads_and_none_is_a_module():
    for name in logic.__all__:
        assert type(getattr(logic, name)).__name__ != "module", name


def test_modules_do_not_hide_public_names():
    code = (
        "from likely import logic\n"
        "logic.evaluate, logic.satisfaction, logic.explain\n"
        "print(round(logic.satisfaction(logic.parse('a | b'), {'a': .5, 'b': .5}), 2),"
        " logic.informativeness('a & b').bits, logic.compile('a').method)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0.75 2.0 and"


def test_the_language_needs_no_torch():
    code = (
        "import sys\nfrom likely import logic\nlogic.parse('a & b'), logic.Theory\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

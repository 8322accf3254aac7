"""The report: one self-contained HTML page on a model, made of sections that studies can add.

```python
import likely
from likely import report

report.build(likely.load("smollm2")).write("report.html")
```
"""

from likely.report.document import Report, build
from likely.report.render import render, render_source
from likely.report.section import PRESETS, SECTIONS, Job, Section, SectionMaker

__all__ = [
    "PRESETS",
    "SECTIONS",
    "Job",
    "Report",
    "Section",
    "SectionMaker",
    "build",
    "render",
    "render_source",
]

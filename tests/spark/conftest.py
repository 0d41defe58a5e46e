import pytest
from support import spark as sparks


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    """The one session of this process, stopped after the last test of this folder that it runs."""
    sparks.require()
    session = sparks.session(**{"spark.local.dir": str(tmp_path_factory.mktemp("spark"))})
    yield session
    session.stop()

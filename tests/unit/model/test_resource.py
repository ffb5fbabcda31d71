from volary.model import resource


def test_key_is_written_as_pipecd_writes_it() -> None:
    key = resource.ResourceKey("apps", "Deployment", "shop", "web")

    assert str(key) == "apps:Deployment:shop:web"

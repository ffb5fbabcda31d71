from volary.model.objects import manifest


def test_key_is_written_as_pipecd_writes_it() -> None:
    key = manifest.ResourceKey("apps", "Deployment", "shop", "web")

    assert str(key) == "apps:Deployment:shop:web"

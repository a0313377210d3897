using System;
using System.Net;
using System.Threading.Tasks;
using Xunit;

public class WherryTests : IClassFixture<Wherry>, IAsyncLifetime
{
    private const string ConfigMaps = "/api/v1/namespaces/default/configmaps";
    private const string Jobs = "/apis/batch/v1/namespaces/default/jobs";
    private readonly Wherry cluster;

    public WherryTests(Wherry cluster) => this.cluster = cluster;

    // Every test has a fresh cluster.
    public Task InitializeAsync() => cluster.Reset();

    public Task DisposeAsync() => Task.CompletedTask;

    [Fact]
    public async Task DeploymentsBecomeReady()
    {
        var labels = new { app = "web" };
        await cluster.Call("POST", "/apis/apps/v1/namespaces/default/deployments", new
        {
            metadata = new { name = "web" },
            spec = new
            {
                replicas = 3,
                selector = new { matchLabels = labels },
                template = new
                {
                    metadata = new { labels },
                    spec = new { containers = new[] { new { name = "web", image = "nginx" } } },
                },
            },
        });
        await cluster.Settled();
        var web = await cluster.Call("GET", "/apis/apps/v1/namespaces/default/deployments/web");
        Assert.Equal(3, web.GetProperty("status").GetProperty("readyReplicas").GetInt32());
    }

    [Fact]
    public async Task TimePassesWhenItIsToldTo()
    {
        var pod = new { restartPolicy = "Never", containers = new[] { new { name = "work", image = "work" } } };
        var spec = new { ttlSecondsAfterFinished = 3600, template = new { spec = pod } };
        await cluster.Call("POST", Jobs, new { metadata = new { name = "short" }, spec });
        await cluster.Settled();
        await cluster.Advance(TimeSpan.FromHours(2));
        Assert.Empty((await cluster.Call("GET", Jobs)).GetProperty("items").EnumerateArray());
    }

    [Fact]
    public async Task RequestsFailAsAsked()
    {
        await cluster.Fail(new { verb = "create", kind = "ConfigMap", status = 503, times = 1 });
        var first = await cluster.Send("POST", ConfigMaps, new { metadata = new { name = "first" } });
        Assert.Equal(HttpStatusCode.ServiceUnavailable, first.StatusCode);
        await cluster.Call("POST", ConfigMaps, new { metadata = new { name = "second" } });
    }
}

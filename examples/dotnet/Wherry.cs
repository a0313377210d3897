// A Wherry cluster for xUnit: one server for the tests of a collection, a fresh state for every test that calls Reset.
// Needs .NET Core 3.1 or newer and xUnit, and nothing else. The variable WHERRY names the command, default "wherry".
#nullable enable
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;
using Xunit;

/// <summary>The API of a cluster, and its test kit.</summary>
public sealed class Wherry : IAsyncLifetime
{
    private const string Options =
        "up --in-memory --testing --port 0 --secure-port off --simulated-nodes 2 --config off";

    private readonly HttpClient client = new HttpClient { Timeout = TimeSpan.FromSeconds(90) };
    private readonly string folder = Directory.CreateDirectory(
        Path.Combine(Path.GetTempPath(), "wherry-xunit-" + Guid.NewGuid().ToString("N"))).FullName;
    private Process? process;

    /// <summary>Where the API answers.</summary>
    public string Url { get; private set; } = "";

    /// <summary>A file that client libraries read.</summary>
    public string Kubeconfig => Path.Combine(folder, "kubeconfig");

    public async Task InitializeAsync()
    {
        var words = (Environment.GetEnvironmentVariable("WHERRY") ?? "wherry").Split(' ');
        var start = new ProcessStartInfo(words[0])
        {
            RedirectStandardOutput = true,
            RedirectStandardInput = true,
            WorkingDirectory = folder,
        };
        foreach (var word in words.Skip(1).Concat(Options.Split(' '))) start.ArgumentList.Add(word);
        process = Process.Start(start)!;
        string? line;
        while ((line = await process.StandardOutput.ReadLineAsync()) != null && !line.StartsWith("Try: "))
            if (line.Contains("Wherry is ready at ")) Url = line[(line.LastIndexOf(' ') + 1)..];
        if (line == null) throw new InvalidOperationException("wherry has ended before it was ready");
        await File.WriteAllTextAsync(Kubeconfig, JsonSerializer.Serialize(new
        {
            apiVersion = "v1",
            kind = "Config",
            clusters = new[] { new { name = "test", cluster = new { server = Url } } },
            contexts = new[] { new { name = "test", context = new { cluster = "test", user = "" } } },
        }).Replace("\"kind\"", "\"current-context\":\"test\",\"kind\""));
    }

    public Task DisposeAsync()
    {
        // .NET cannot send SIGTERM; nothing of a cluster in memory is left when it is killed with its children.
        process?.Kill(entireProcessTree: true);
        process?.WaitForExit();
        client.Dispose();
        Directory.Delete(folder, recursive: true);
        return Task.CompletedTask;
    }

    /// <summary>Sends a request to the API and returns the answer.</summary>
    public async Task<HttpResponseMessage> Send(string method, string path, object? body = null)
    {
        var request = new HttpRequestMessage(new HttpMethod(method), Url + path);
        if (body != null)
            request.Content = new StringContent(JsonSerializer.Serialize(body), Encoding.UTF8, "application/json");
        return await client.SendAsync(request);
    }

    /// <summary>The same for requests that must succeed: the body of the answer.</summary>
    public async Task<JsonElement> Call(string method, string path, object? body = null)
    {
        using var answer = await Send(method, path, body);
        var text = await answer.Content.ReadAsStringAsync();
        if (!answer.IsSuccessStatusCode)
            throw new InvalidOperationException($"{method} {path} was answered with {answer.StatusCode}: {text}");
        return text == "" ? default : JsonSerializer.Deserialize<JsonElement>(text);
    }

    private Task<JsonElement> Kit(string method, string path, object? body = null) =>
        Call(method, "/wherry/testing/" + path, body);

    /// <summary>Back to the state after the start.</summary>
    public Task Reset() => Kit("POST", "reset");

    /// <summary>Waits until the controllers and nodes have nothing left to do.</summary>
    public Task Settled() => Kit("GET", "settled?timeoutMs=60000");

    /// <summary>Moves the clock, and does what is due in between.</summary>
    public Task Advance(TimeSpan time) => Kit("POST", "clock", new { advance = $"{(long)time.TotalMilliseconds}ms" });

    /// <summary>Makes requests fail: <c>new { verb = "create", kind = "Pod", status = 503, times = 1 }</c>.</summary>
    public Task Fail(object rule) => Kit("POST", "faults", rule);

    /// <summary>The requests so far that match: <c>verb=create</c>.</summary>
    public Task<JsonElement> Requests(string match) => Kit("GET", "requests?" + match);
}

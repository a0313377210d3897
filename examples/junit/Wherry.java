import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A Wherry cluster for JUnit 5: one server for the run, a fresh state for every test. Needs Java 11 and JUnit, and
 * nothing else.
 *
 * <pre>
 * &#64;ExtendWith(Wherry.class)
 * class JobTest {
 *   &#64;Test
 *   void test(Wherry.Cluster cluster) { … }
 * }
 * </pre>
 *
 * The variable WHERRY names the command, default {@code wherry}. Tests of one server do not run in parallel.
 */
public final class Wherry implements BeforeEachCallback, ParameterResolver {
  private static final ExtensionContext.Namespace STORE = ExtensionContext.Namespace.create(Wherry.class);
  private static final List<String> OPTIONS =
      List.of("up", "--in-memory", "--testing", "--port", "0", "--secure-port", "off",
          "--simulated-nodes", "2", "--config", "off");

  /** The API of a cluster, and its test kit. Bodies and answers are JSON, for the library of your choice. */
  public static final class Cluster {
    private final HttpClient client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(10)).build();

    /** Where the API answers. */
    public final String url;
    /** A file that client libraries read. */
    public final Path kubeconfig;

    private Cluster(String url, Path kubeconfig) {
      this.url = url;
      this.kubeconfig = kubeconfig;
    }

    /** Sends a request to the API; the answer has its status and its body. */
    public HttpResponse<String> send(String method, String path, String body) {
      HttpRequest.BodyPublisher sent =
          body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(url + path))
              .timeout(Duration.ofSeconds(90))
              .header("Content-Type", "application/json")
              .method(method, sent)
              .build();
      try {
        return client.send(request, HttpResponse.BodyHandlers.ofString());
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(error);
      }
    }

    /** The same for requests that must succeed. */
    public String call(String method, String path, String body) {
      HttpResponse<String> answer = send(method, path, body);
      if (answer.statusCode() >= 300)
        throw new IllegalStateException(
            method + " " + path + " was answered with " + answer.statusCode() + ": " + answer.body());
      return answer.body();
    }

    public String get(String path) {
      return call("GET", path, null);
    }

    public String create(String path, String object) {
      return call("POST", path, object);
    }

    private String kit(String method, String path, String body) {
      return call(method, "/wherry/testing/" + path, body);
    }

    /** Back to the state after the start. */
    public void reset() {
      kit("POST", "reset", null);
    }

    /** Waits until the controllers and nodes have nothing left to do. */
    public void settled() {
      kit("GET", "settled?timeoutMs=60000", null);
    }

    /** Moves the clock, and does what is due in between. */
    public void advance(Duration duration) {
      kit("POST", "clock", "{\"advance\":\"" + duration.toMillis() + "ms\"}");
    }

    /** Makes requests fail: {@code {"verb":"create","kind":"Pod","status":503,"times":1}}. */
    public void fail(String rule) {
      kit("POST", "faults", rule);
    }

    /** The requests so far that match: {@code Map.of("verb", "create")}. */
    public String requests(Map<String, String> match) {
      return kit(
          "GET",
          "requests?"
              + match.entrySet().stream()
                  .map(one -> one.getKey() + "=" + URLEncoder.encode(one.getValue(), StandardCharsets.UTF_8))
                  .collect(Collectors.joining("&")),
          null);
    }
  }

  /** The process, which JUnit closes at the end of the run. */
  private static final class Server implements ExtensionContext.Store.CloseableResource {
    private final Path folder;
    private final Process process;
    final Cluster cluster;

    Server() {
      try {
        folder = Files.createTempDirectory("wherry-junit-");
        List<String> command = new ArrayList<>(List.of(System.getenv().getOrDefault("WHERRY", "wherry").split(" +")));
        command.addAll(OPTIONS);
        process =
            new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String url = started();
        Path kubeconfig = folder.resolve("kubeconfig");
        Files.writeString(
            kubeconfig,
            "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"test\","
                + "\"clusters\":[{\"name\":\"test\",\"cluster\":{\"server\":\"" + url + "\"}}],"
                + "\"contexts\":[{\"name\":\"test\",\"context\":{\"cluster\":\"test\",\"user\":\"\"}}]}");
        cluster = new Cluster(url, kubeconfig);
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    private String started() throws IOException {
      BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      String url = null;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.contains("Wherry is ready at ")) url = line.substring(line.lastIndexOf(' ') + 1);
        if (line.startsWith("Try: ")) return url;
      }
      throw new IllegalStateException("wherry has ended before it was ready");
    }

    @Override
    public void close() throws Exception {
      process.destroy();
      if (!process.waitFor(60, TimeUnit.SECONDS)) process.destroyForcibly();
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) Files.delete(file);
      }
    }
  }

  private static Cluster cluster(ExtensionContext context) {
    return context.getRoot().getStore(STORE).getOrComputeIfAbsent("server", key -> new Server(), Server.class).cluster;
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    cluster(context).reset();
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Cluster.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return cluster(context);
  }
}

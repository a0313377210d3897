// Stands in for Testcontainers, KubernetesClient and xUnit: what the recipe in docs/containers.md calls of them.
using System;
using System.IO;
using System.Threading.Tasks;

namespace DotNet.Testcontainers.Builders
{
    public sealed class WaitStrategy
    {
        public WaitStrategy UntilMessageIsLogged(string pattern) => this;
    }

    public static class Wait
    {
        public static WaitStrategy ForUnixContainer() => new WaitStrategy();
    }

    public sealed class ContainerBuilder
    {
        public ContainerBuilder WithImage(string image) => this;

        public ContainerBuilder WithCommand(params string[] command) => this;

        public ContainerBuilder WithPortBinding(int port, bool assignRandomHostPort) => this;

        public ContainerBuilder WithWaitStrategy(WaitStrategy strategy) => this;

        public Containers.IContainer Build() => throw new NotSupportedException();
    }
}

namespace DotNet.Testcontainers.Containers
{
    public readonly struct ExecResult
    {
        public string Stdout => "";
    }

    public interface IContainer : IAsyncDisposable
    {
        string Hostname { get; }

        Task StartAsync();

        ushort GetMappedPublicPort(int port);

        Task<ExecResult> ExecAsync(string[] command);
    }
}

namespace k8s
{
    public sealed class KubernetesClientConfiguration
    {
        public static KubernetesClientConfiguration BuildConfigFromConfigFile(Stream kubeconfig) =>
            throw new NotSupportedException();
    }

    public sealed class CoreV1Operations
    {
        public Task<object> ReadNamespaceAsync(string name) => throw new NotSupportedException();
    }

    public sealed class Kubernetes
    {
        public Kubernetes(KubernetesClientConfiguration config) { }

        public CoreV1Operations CoreV1 => throw new NotSupportedException();
    }
}

namespace Xunit
{
    public static class Assert
    {
        public static void NotNull(object any) { }
    }
}

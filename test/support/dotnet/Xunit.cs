// Stands in for xUnit, whose packages NuGet alone has: what the examples call, and a runner that prints a line for each test.
#nullable enable
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Threading.Tasks;
using Xunit;

namespace Xunit
{
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class FactAttribute : Attribute { }

    public interface IAsyncLifetime
    {
        Task InitializeAsync();

        Task DisposeAsync();
    }

    public interface IClassFixture<TFixture>
        where TFixture : class { }

    public static class Assert
    {
        public static void Equal<T>(T expected, T actual)
        {
            if (!EqualityComparer<T>.Default.Equals(expected, actual))
                throw new Exception($"expected {expected}, and it is {actual}");
        }

        public static void Empty(IEnumerable collection)
        {
            if (collection.Cast<object>().Any()) throw new Exception("expected nothing, and there is something");
        }
    }
}

internal static class Runner
{
    private static async Task<int> Main()
    {
        var failed = 0;
        foreach (var type in Assembly.GetExecutingAssembly().GetTypes())
        {
            var facts = type.GetMethods().Where(one => one.GetCustomAttribute<FactAttribute>() != null).ToArray();
            if (facts.Length > 0) failed += await Run(type, facts);
        }
        return failed;
    }

    // As xUnit: a fixture for all tests of a class, and an object of the class for each.
    private static async Task<int> Run(Type type, MethodInfo[] facts)
    {
        var fixtures = type.GetInterfaces()
            .Where(one => one.IsGenericType && one.GetGenericTypeDefinition() == typeof(IClassFixture<>))
            .Select(one => Activator.CreateInstance(one.GetGenericArguments()[0])!)
            .ToArray();
        foreach (var fixture in fixtures.OfType<IAsyncLifetime>()) await fixture.InitializeAsync();
        var failed = 0;
        foreach (var fact in facts)
        {
            var test = Activator.CreateInstance(type, fixtures)!;
            try
            {
                if (test is IAsyncLifetime life) await life.InitializeAsync();
                await (Task)fact.Invoke(test, null)!;
                if (test is IAsyncLifetime ending) await ending.DisposeAsync();
                Console.WriteLine($"passed {fact.Name}");
            }
            catch (Exception error)
            {
                failed++;
                Console.WriteLine($"failed {fact.Name}: {error}");
            }
        }
        foreach (var fixture in fixtures.OfType<IAsyncLifetime>()) await fixture.DisposeAsync();
        return failed;
    }
}

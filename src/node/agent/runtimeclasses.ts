/**
 * The RuntimeClass objects of a node's runtimes, which let a pod choose one by name. Classes of container engines lead
 * their pods to the nodes that have the engine.
 */
import { StatusError } from '../../api/errors.ts';
import type { RuntimeClass } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { runtimeClasses } from '../../client/resources.ts';

const labelOf = (name: string): string => `wherry.dev/runtime-${name}`;

const engines: ReadonlySet<string> = new Set(['docker', 'cri']);

/** Labels of a node that has these runtimes. */
export const runtimeLabels = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.filter((name) => engines.has(name)).map((name) => [labelOf(name), 'true']));

const classOf = (name: string): RuntimeClass => ({
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name },
  handler: name,
  ...(engines.has(name) ? { scheduling: { nodeSelector: { [labelOf(name)]: 'true' } } } : {}),
});

/** Makes the classes that are missing. A node with credentials of its own may not: then its server has to. */
export async function makeRuntimeClasses(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names)
    await client.create(runtimeClasses, undefined, classOf(name)).catch((error: unknown) => {
      // It is there, this node may not make it, or this is a server without such objects.
      if (!(error instanceof StatusError && [403, 404, 409].includes(error.code))) throw error;
    });
}

/** The handler that a class names; undefined when there is no such class. */
export async function handlerOf(client: Client, name: string): Promise<string | undefined> {
  try {
    return (await client.get(runtimeClasses, undefined, name)).handler;
  } catch {
    return undefined;
  }
}

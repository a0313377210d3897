/** The RuntimeClass objects of a node's runtimes, which let a pod choose one by name. */
import { StatusError } from '../../api/errors/errors.ts';
import { runtimeClassOf } from '../../api/rules/shared/node-runtimes.ts';
import type { Client } from '../../client/client.ts';
import { runtimeClasses } from '../../client/resources.ts';

/** Creates missing classes. A node with its own credentials may not do that: then a controller does. */
export async function makeRuntimeClasses(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names)
    await client.create(runtimeClasses, undefined, runtimeClassOf(name)).catch((error: unknown) => {
      // It exists already, this node may not create it, or the server does not have such objects.
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

/** Update: a PUT replaces an object, its status, or the finalizers of a namespace. */
import { badRequest, StatusError } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/object.ts';
import { create, settleNamespace } from './create.ts';
import type { Entry } from './entry.ts';
import { modify, type Part } from './modify.ts';
import type { Registry, WriteOptions } from './registry.ts';

/** The name in a body must be the one in the path. */
export function checkName(object: ApiObject, name: string): void {
  const sent = object.metadata.name;
  if (!sent)
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (sent !== name)
    throw badRequest(`the name of the object (${sent}) does not match the name on the URL (${name})`);
}

/** `read` decodes the body anew for every round, because a round changes the object it works on. */
export async function update(
  registry: Registry,
  kind: Kind,
  namespace: string,
  name: string,
  part: Part,
  read: () => ApiObject,
  options: WriteOptions,
): Promise<{ entry: Entry; created: boolean }> {
  const replacement = (): ApiObject => {
    const object = read();
    kind.defaults?.(object);
    checkName(object, name);
    settleNamespace(kind, object, namespace);
    return object;
  };
  try {
    return {
      entry: await modify(registry, kind, namespace, name, part, options, replacement),
      created: false,
    };
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404 && kind.createOnUpdate && part === 'main'))
      throw error;
  }
  const object = replacement();
  delete object.metadata.resourceVersion;
  return { entry: await create(registry, kind, namespace, object, options), created: true };
}

/**
 * Objects that every server of a cluster creates at its start if they are missing, and corrects otherwise. When servers
 * start at the same time on one store, the first creates an object, and the others use it.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { collectionOf, type Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';
import { create } from './create.ts';
import { modify } from './modify.ts';

/** How often others may create or delete the object between a read and a write. */
const attemptsMax = 5;

export interface SharedObject {
  readonly target: Target;
  /** Makes a missing object; absent: it stays missing. */
  readonly make: (() => ApiObject) | undefined;
  /** The object to store in place of the current one; undefined when the current one is right. */
  change(current: Entry): ApiObject | undefined;
}

export async function makeOrChange(writing: Writing, { target, make, change }: SharedObject): Promise<void> {
  const { kind, namespace, name } = target;
  for (let attempt = 1; ; attempt++) {
    const current = writing.registry.view.collection(kind).get(namespace, name);
    try {
      if (current && change(current))
        await modify(
          writing,
          actingAs('kube-apiserver', 'update'),
          target,
          (entry) => change(entry) ?? entry.object(),
        );
      else if (!current && make)
        await create(writing, actingAs('kube-apiserver', 'create'), collectionOf(kind, namespace), make());
      return;
    } catch (error) {
      const raced = error instanceof StatusError && error.reason === (current ? 'NotFound' : 'AlreadyExists');
      // The failed write has waited until the view shows the conflicting state.
      if (!raced || attempt === attemptsMax) throw error;
    }
  }
}

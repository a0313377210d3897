/**
 * Objects that every server of a cluster makes at its start if they are missing, and puts right otherwise. Servers that start
 * at the same time on one store find each other's: whichever is first makes an object, the others take it over.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { collectionOf, type Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';
import { create } from './create.ts';
import { modify } from './modify.ts';

/** Times that others may make or delete the object between a look and a write. */
const attemptsMax = 5;

export interface SharedObject {
  readonly target: Target;
  /** Absent: an object that is missing stays missing. */
  readonly make: (() => ApiObject) | undefined;
  /** What is to be stored in place of an object that is there; undefined: it is right. */
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
      // The write has waited until the view shows what was in its way.
      if (!raced || attempt === attemptsMax) throw error;
    }
  }
}

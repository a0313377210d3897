/** For tests of authorizers: a registry in memory, and short ways to write roles, bindings and questions. */

import { randomInt, randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import type { PolicyRule, Subject } from '../../api/generated/types.ts';
import type { Attributes, ResourceAction } from '../../api/kind/access.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { rbacGroup } from '../../api/rules/access/rbac.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { User } from '../../api/values/user.ts';
import { admissionChain } from '../../registry/admission/plugins.ts';
import type { Registry } from '../../registry/registry.ts';
import { ensureSystemNamespaces } from '../../registry/system/system-namespaces.ts';
import { collectionOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { View } from '../../registry/view/view.ts';
import { actingAs } from '../../registry/writers.ts';
import { makeWriting, type Writing } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';

export const user = (name: string, ...groups: string[]): User => ({ name, groups });

/** `get apps/deployments/scale x` in a namespace; the core group is left out: `get pods`. */
export function asks(who: User, text: string, namespace?: string): Attributes {
  const [verb = '', what = '', name] = text.split(' ');
  if (what.startsWith('/')) return { user: who, info: { verb, path: what, resource: undefined } };
  const [group, rest] = what.includes(':') ? (what.split(':') as [string, string]) : ['', what];
  const [resource = '', subresource] = rest.split('/');
  const action: ResourceAction = { group, version: 'v1', resource, subresource, namespace, name };
  return { user: who, info: { verb, path: '', resource: action } };
}

export class TestRegistry {
  writing!: Writing;
  readonly #closers: (() => unknown)[] = [];

  get registry(): Registry {
    return this.writing.registry;
  }

  async open(): Promise<void> {
    const kinds = new KindTable();
    const store = openMemoryStore();
    const view = await View.open(store, kinds);
    const sources = { nowMs: Date.now, uid: randomUUID, randomBelow: (bound: number) => randomInt(bound) };
    this.writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
    await ensureSystemNamespaces(this.writing);
    this.#closers.push(
      () => view.close(),
      () => store.close(),
    );
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close();
  }

  /** Stores an object as it is, in the place of one of the same name. */
  async put(apiVersion: string, resource: string, namespace: string, object: ApiObject): Promise<void> {
    await this.delete(apiVersion, resource, namespace, object.metadata.name!);
    const kind = this.registry.kinds.resource(apiVersion, resource)!;
    await this.registry.seed(actingAs('kube-apiserver', 'create'), collectionOf(kind, namespace), object);
  }

  async delete(apiVersion: string, resource: string, namespace: string, name: string): Promise<void> {
    const kind = this.registry.kinds.resource(apiVersion, resource)!;
    if (!this.registry.view.collection(kind).get(namespace, name)) return;
    const target = { kind, namespace, name, part: 'main' } as const;
    await remove(this.writing, actingAs('kube-apiserver', 'delete'), target, { gracePeriodSeconds: 0 });
  }

  /** A role of a namespace, or a cluster role when the namespace is empty. */
  role(namespace: string, name: string, rules: PolicyRule[]): Promise<void> {
    const resource = namespace ? 'roles' : 'clusterroles';
    return this.put(`${rbacGroup}/v1`, resource, namespace, { metadata: { name }, rules } as ApiObject);
  }

  binding(
    namespace: string,
    name: string,
    roleKind: string,
    roleName: string,
    subjects: Subject[],
  ): Promise<void> {
    const resource = namespace ? 'rolebindings' : 'clusterrolebindings';
    const roleRef = { apiGroup: rbacGroup, kind: roleKind, name: roleName };
    const full = subjects.map((subject) =>
      subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup: rbacGroup },
    );
    const object = { metadata: { name }, roleRef, subjects: full } as ApiObject;
    return this.put(`${rbacGroup}/v1`, resource, namespace, object);
  }
}

/** One registry for the tests of a describe block. */
export function useRegistry(): TestRegistry {
  const made = new TestRegistry();
  beforeAll(() => made.open());
  afterAll(() => made.close());
  return made;
}

/**
 * Maintains the default flow schemas and priority levels, unless an annotation says that an operator has changed them,
 * and the statuses of schemas, which say whether their level exists.
 */
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { defaultLevels, defaultSchemas } from '../../api/rules/access/flow-defaults.ts';
import { type ApiObject, cloneJson, semanticEqual } from '../../api/text/object.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import { Watcher } from '../../registry/view/watcher.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';

const version = 'flowcontrol.apiserver.k8s.io/v1';
const autoUpdate = 'apf.kubernetes.io/autoupdate-spec';

type Configured = FlowSchema | PriorityLevelConfiguration;

export class FlowPolicy {
  readonly #schemas: Kind;
  readonly #levels: Kind;
  readonly #watchers: Watcher[] = [];
  #working: Promise<void> | undefined;
  #isDirty = false;
  #isClosed = false;

  constructor(
    private readonly writing: Writing,
    private readonly onError: (error: Error) => void,
  ) {
    const { registry } = writing;
    this.#schemas = registry.kinds.resource(version, 'flowschemas')!;
    this.#levels = registry.kinds.resource(version, 'prioritylevelconfigurations')!;
  }

  /** Resolves when all defaults exist. All missing objects are written at once, so that they share a commit. */
  async start(): Promise<void> {
    await Promise.all([
      ...[...defaultLevels].map(([name, spec]) => this.#ensure(this.#levels, name, spec)),
      ...[...defaultSchemas].map(([name, spec]) => this.#ensure(this.#schemas, name, spec)),
    ]);
    await this.#work();
    for (const kind of [this.#schemas, this.#levels]) this.#follow(kind);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const watcher of this.#watchers) watcher.close();
    await this.#working;
  }

  async #ensure(kind: Kind, name: string, spec: object): Promise<void> {
    const entry = this.writing.registry.view.collection(kind).get('', name);
    if (!entry) {
      const object = {
        metadata: { name, generation: 1, annotations: { [autoUpdate]: 'true' } },
        spec: cloneJson(spec),
        ...(kind === this.#schemas ? { status: { conditions: [this.#foundNow(spec)] } } : {}),
      };
      await this.writing.registry.seed(actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), object);
      return;
    }
    if (!isKept(entry) || semanticEqual((entry.peek() as Configured).spec, spec)) return;
    await modify(this.writing, actingAs('kube-apiserver', 'update'), targetOf(entry), (current) => ({
      ...current.object(),
      spec: cloneJson(spec),
    }));
  }

  /** Whether the level of a schema exists; those of default schemas are created with them. */
  #foundNow(spec: { readonly priorityLevelConfiguration?: { readonly name?: string } }): object {
    return {
      ...dangling(spec.priorityLevelConfiguration?.name ?? '', true),
      lastTransitionTime: this.writing.registry.now(),
    };
  }

  #follow(kind: Kind): void {
    const collection = this.writing.registry.view.collection(kind);
    const start = { state: undefined, position: collection.endNumber };
    const watcher = new Watcher(collection, everything, start, {
      patient: true,
      send: () => {
        void this.#work();
        return true;
      },
      stateSent: () => undefined,
      // History has moved past the watch: start again from the current state.
      expired: () => {
        if (this.#isClosed) return;
        this.#follow(kind);
        void this.#work();
      },
    });
    this.#watchers.push(watcher);
  }

  /** Runs one round at a time; changes in the meantime start another. */
  #work(): Promise<void> {
    this.#isDirty = true;
    this.#working ??= this.#rounds().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  async #rounds(): Promise<void> {
    while (this.#isDirty && !this.#isClosed) {
      this.#isDirty = false;
      const { view } = this.writing.registry;
      const levels = view.collection(this.#levels);
      const schemas = view.collection(this.#schemas).select(everything).entries;
      await Promise.all(
        schemas.map((entry) => this.#settle(entry, (name) => levels.get('', name) !== undefined)),
      );
    }
  }

  async #settle(entry: Entry, exists: (level: string) => boolean): Promise<void> {
    const change = (schema: FlowSchema): FlowSchema | undefined => {
      const level = schema.spec?.priorityLevelConfiguration?.name ?? '';
      const wanted = dangling(level, exists(level));
      const conditions = schema.status?.conditions ?? [];
      const before = conditions.find(({ type }) => type === wanted.type);
      if (before?.status === wanted.status && before.message === wanted.message) return undefined;
      const lastTransitionTime =
        before?.status === wanted.status ? before.lastTransitionTime : this.writing.registry.now();
      const others = conditions.filter(({ type }) => type !== wanted.type);
      return { ...schema, status: { conditions: [...others, { ...wanted, lastTransitionTime }] } };
    };
    if (!change(entry.peek() as FlowSchema)) return;
    try {
      await modify(
        this.writing,
        actingAs('kube-apiserver', 'update'),
        targetOf(entry, 'status'),
        (current) => (change(current.object() as FlowSchema) ?? current.object()) as ApiObject,
      );
    } catch (error) {
      // The schema may have been deleted meanwhile.
      if (this.writing.registry.view.collection(this.#schemas).get('', entry.name))
        this.onError(error as Error);
    }
  }
}

const isKept = (entry: Entry): boolean => entry.peek().metadata.annotations?.[autoUpdate] !== 'false';

function dangling(level: string, isThere: boolean) {
  const reference = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  return isThere
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${reference} and it exists` }
    : {
        type: 'Dangling',
        status: 'True',
        reason: 'NotFound',
        message: `${reference} but there is no such object`,
      };
}

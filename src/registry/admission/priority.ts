/**
 * Priority: sets the priority of a pod from its priority class; a client that sets another number is refused. Also
 * refuses a second default class, and the deletion of system classes.
 */
import { forbidden } from '../../api/errors/errors.ts';
import type { Pod, PodSpec, PriorityClass } from '../../api/generated/types.ts';
import { systemClasses } from '../../api/kinds/scheduling/priority-class.ts';
import { Memo } from '../../memo.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import type { Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { everything } from '../view/filter.ts';
import type { Page } from '../view/page.ts';

/**
 * Searched for in the JSON of classes, which saves parsing them: every pod that is created asks for the default
 * class.
 */
const defaultMark = Buffer.from('"globalDefault":true');

export const priority: AdmissionPlugin = {
  name: 'Priority',
  kinds: ['core/pods', 'scheduling.k8s.io/priorityclasses'],

  mutate(registry, { operation, target, object }) {
    if (operation !== 'create' || target.kind.id !== 'core/pods') return;
    setPriority(registry, target, ((object as Pod).spec ??= {}));
  },

  validate(registry, { operation, target: { kind, name }, object }) {
    if (kind.id !== 'scheduling.k8s.io/priorityclasses') return;
    if (operation === 'delete') {
      if (systemClasses.some(({ metadata }) => metadata.name === name))
        throw forbidden(kind, name, 'this is a system priority class and cannot be deleted');
      return;
    }
    const other = (object as PriorityClass).globalDefault ? defaultClass(registry) : undefined;
    if (other && (operation === 'create' || other.metadata.name !== name))
      throw forbidden(
        kind,
        name,
        `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
      );
  },
};

function setPriority(registry: Registry, { kind, name }: Target, spec: PodSpec): void {
  const found = classOf(registry, spec.priorityClassName);
  if (spec.priorityClassName && !found)
    throw forbidden(kind, name, `no PriorityClass with name ${spec.priorityClassName} was found`);
  const computed = found?.value ?? 0;
  if (spec.priority !== undefined && spec.priority !== computed)
    throw forbidden(
      kind,
      name,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`,
    );
  const policy = found?.preemptionPolicy ?? 'PreemptLowerPriority';
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy)
    throw forbidden(
      kind,
      name,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  if (found) spec.priorityClassName = found.metadata.name;
  spec.priority = computed;
  spec.preemptionPolicy = policy;
}

/** The class of a name, or the default one when no name is given. */
const classOf = (registry: Registry, name: string | undefined): PriorityClass | undefined =>
  name
    ? (registry.view.collection('scheduling.k8s.io/priorityclasses').get('', name)?.peek() as
        | PriorityClass
        | undefined)
    : defaultClass(registry);

/** The default class of a page of classes, cached for as long as the classes do not change. */
const defaults = new Memo(defaultOf);

const defaultClass = (registry: Registry): PriorityClass | undefined =>
  defaults.of(registry.view.collection('scheduling.k8s.io/priorityclasses').select(everything))?.peek() as
    | PriorityClass
    | undefined;

/** Two classes that were created at the same time may both be the default: the one with the lower value is used. */
function defaultOf({ entries }: Page): Entry | undefined {
  const priorityOf = (entry: Entry): number => (entry.peek() as PriorityClass).value ?? 0;
  return entries
    .filter(({ document }) => document.includes(defaultMark))
    .sort((a, b) => priorityOf(a) - priorityOf(b))[0];
}

/**
 * The environment of a container: its variables and command line, from the pod, the image, the services, and
 * the config maps and secrets it refers to.
 */
import type {
  Container,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  Node,
  Pod,
  Service,
} from '../../api/generated/types.ts';
import { isEnvName } from '../../api/values/names.ts';
import { composedKey } from '../../composed-key.ts';
import { podHostname } from '../network/hosts-file.ts';
import type { ImageCommand } from '../runtime/runtime.ts';
import type { ConfigObjects } from './config-objects.ts';
import { containerResource, podField } from './downward.ts';
import { expand } from './expansion.ts';
import { serviceVariables } from './service-environment.ts';

/** Linux' limit for one variable or argument. */
const textBytesMax = 128 * 1024;
/** Linux' limit for all variables and arguments of a process together. */
const totalBytesMax = 2 * 1024 * 1024;
const pathDefault = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A container that cannot be created as its pod describes it. The message is for the pod's author. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The sources of a container's variables. */
export interface VariableInputs {
  readonly pod: Pod;
  readonly container: Container;
  readonly podIP: string;
  readonly hostIP: string;
  readonly node: Node;
  /** All services the agent knows; the pod sees a selection. */
  readonly services: readonly Service[];
  readonly objects: ConfigObjects;
}

export interface EnvironmentInputs extends VariableInputs {
  readonly image: ImageCommand | undefined;
}

export interface ContainerEnvironment {
  readonly env: Record<string, string>;
  /** Empty when neither the pod nor the image has a command. */
  readonly command: string[];
  readonly workingDir: string | undefined;
}

/** Throws `ConfigError`. */
export async function containerEnvironment(inputs: EnvironmentInputs): Promise<ContainerEnvironment> {
  const { pod, container, image, node } = inputs;
  const variables = await containerVariables(inputs);
  const env = new Map([
    // A container with a root of its own gets the variables of its image only.
    ...(image?.engine ? [] : [programs()]),
    ['HOSTNAME', podHostname(pod, node)],
    ...Object.entries(image?.env ?? {}),
    ...variables,
  ] as [string, string][]);
  const room = new ProcessRoom();
  for (const [name, value] of env) room.take(`${name}=${value}`, `environment variable ${name}`);
  return {
    env: Object.fromEntries(env),
    command: commandLine(container, image, variables, room),
    workingDir: container.workingDir || image?.workingDir || undefined,
  };
}

/**
 * What every process needs of the agent's environment: where programs are. Nothing else is passed on, as it may contain
 * the agent's secrets, and its home folder holds those of the user who started it.
 */
const programs = (): [string, string] => ['PATH', process.env.PATH || pathDefault];

/**
 * The variables a pod describes: of services, then `envFrom`, then `env`; later ones win. References expand
 * to these only, not to variables of the image.
 */
export async function containerVariables(inputs: VariableInputs): Promise<Map<string, string>> {
  const { pod, container, services } = inputs;
  const objects = new ReferredObjects(inputs.objects, pod.metadata.namespace ?? '');
  const variables = serviceVariables(pod, services);
  const room = new ProcessRoom();
  const set = (name: string, value: string): void => {
    room.take(`${name}=${value}`, `environment variable ${name}`);
    variables.set(name, value);
  };
  for (const source of container.envFrom ?? [])
    for (const [name, value] of await valuesFrom(source, objects)) set(name, value);
  for (const variable of container.env ?? []) {
    const value = await variableValue(variable, inputs, objects, variables);
    if (value !== undefined) set(variable.name ?? '', value);
  }
  return variables;
}

/** Keys that are not valid variable names are left out. */
async function valuesFrom(source: EnvFromSource, objects: ReferredObjects): Promise<[string, string][]> {
  const { configMapRef, secretRef, prefix = '' } = source;
  const values = configMapRef
    ? await objects.configMap(configMapRef.name ?? '', configMapRef.optional)
    : secretRef
      ? await objects.secret(secretRef.name ?? '', secretRef.optional)
      : undefined;
  return [...(values ?? [])]
    .map(([key, value]): [string, string] => [prefix + key, value])
    .filter(([name]) => isEnvName(name).length === 0);
}

/** Undefined when the variable is not set at all. */
async function variableValue(
  { name, value, valueFrom }: EnvVar,
  inputs: VariableInputs,
  objects: ReferredObjects,
  earlier: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  if (value) return expanded(value, earlier);
  if (!valueFrom) return '';
  const { fieldRef, resourceFieldRef } = valueFrom;
  if (fieldRef) return describing(() => podField(inputs, fieldRef));
  if (resourceFieldRef)
    return describing(() => containerResource(resourceFieldRef, inputs.pod, inputs.node, inputs.container));
  if (valueFrom.configMapKeyRef || valueFrom.secretKeyRef) return keyValue(valueFrom, objects);
  throw new ConfigError(`the source of environment variable ${name} is not supported by this node`);
}

async function keyValue(
  { configMapKeyRef, secretKeyRef }: EnvVarSource,
  objects: ReferredObjects,
): Promise<string | undefined> {
  const { name = '', key = '', optional } = (configMapKeyRef ?? secretKeyRef)!;
  const values = configMapKeyRef
    ? await objects.configMap(name, optional)
    : await objects.secret(name, optional);
  const value = values?.get(key);
  if (value !== undefined || optional) return value;
  const kind = configMapKeyRef ? 'ConfigMap' : 'Secret';
  throw new ConfigError(`couldn't find key ${key} in ${kind} ${objects.namespace}/${name}`);
}

/**
 * A command of the pod replaces the image's command and arguments. Arguments of the pod alone replace the
 * image's arguments.
 */
function commandLine(
  { command = [], args = [] }: Container,
  image: ImageCommand | undefined,
  variables: ReadonlyMap<string, string>,
  room: ProcessRoom,
): string[] {
  const own = (text: string): string => {
    const result = expanded(text, variables);
    room.take(result, 'an argument');
    return result;
  };
  if (command.length) return [...command, ...args].map(own);
  return [...(image?.entrypoint ?? []), ...(args.length ? args.map(own) : (image?.args ?? []))];
}

const expanded = (text: string, variables: ReadonlyMap<string, string>): string =>
  describing(() => expand(text, (name) => variables.get(name), textBytesMax));

/** Runs a step, and turns its error into a `ConfigError`. */
function describing<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error });
  }
}

/**
 * Enforces the kernel's limit for variables and arguments while they are made, because expansion can multiply
 * them.
 */
class ProcessRoom {
  #bytesLeft = totalBytesMax;

  take(text: string, what: string): void {
    // Each ends with a NUL byte in memory.
    const bytes = Buffer.byteLength(text) + 1;
    this.#bytesLeft -= bytes;
    if (bytes > textBytesMax) throw new ConfigError(`${what} has more than ${textBytesMax} bytes`);
    if (this.#bytesLeft < 0)
      throw new ConfigError(`environment and arguments have more than ${totalBytesMax} bytes`);
    if (text.includes('\0')) throw new ConfigError(`${what} contains a NUL character`);
  }
}

/** The config maps and secrets of one container, each read once, so that its variables show one consistent state. */
class ReferredObjects {
  readonly #read = new Map<string, Map<string, string>>();

  constructor(
    private readonly objects: ConfigObjects,
    readonly namespace: string,
  ) {}

  configMap(name: string, optional = false): Promise<Map<string, string> | undefined> {
    return this.#values('configmap', name, optional, async () => {
      const object = await this.objects.configMap(this.namespace, name, 'fresh');
      return object && new Map(Object.entries(object.data ?? {}));
    });
  }

  secret(name: string, optional = false): Promise<Map<string, string> | undefined> {
    return this.#values('secret', name, optional, async () => {
      const object = await this.objects.secret(this.namespace, name, 'fresh');
      const decoded = Object.entries(object?.data ?? {}).map(([key, text]): [string, string] => [
        key,
        Buffer.from(text, 'base64').toString('utf8'),
      ]);
      return object && new Map(decoded);
    });
  }

  async #values(
    kind: string,
    name: string,
    optional: boolean,
    read: () => Promise<Map<string, string> | undefined>,
  ): Promise<Map<string, string> | undefined> {
    const known = this.#read.get(composedKey(kind, name));
    if (known) return known;
    const values = await read().catch((error: Error) => {
      throw new ConfigError(`failed to read ${kind} ${JSON.stringify(name)}: ${error.message}`, {
        cause: error,
      });
    });
    if (values) this.#read.set(composedKey(kind, name), values);
    else if (!optional) throw new ConfigError(`${kind} ${JSON.stringify(name)} not found`);
    return values;
  }
}

/** Adds an ephemeral container to a pod, as `kubectl debug` does, and opens its terminal when it runs. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import type { ApiObject } from '../../core/objects.ts';
import { commandText } from '../../ui/command.ts';
import { Command } from '../../ui/command-line.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { containersOf } from '../pods/containers.ts';
import { wordsOf } from './words.ts';

interface DebugFormProps {
  readonly path: string;
  readonly pod: ApiObject;
  /** Called with the name of the container when it runs. */
  readonly onRunning: (container: string) => void;
}

export function DebugForm({ path, pod, onRunning }: DebugFormProps) {
  const containers = containersOf(pod).filter(({ type }) => type === 'main');
  const isProcess = String(pod.status?.containerStatuses?.[0]?.containerID ?? '').startsWith('process:');
  const [image, setImage] = useState(isProcess ? 'host' : 'busybox');
  const [command, setCommand] = useState('sh');
  const [target, setTarget] = useState(containers[0]?.name ?? '');
  const { name, error, add } = useDebugContainer({ path, pod, onRunning });
  const { namespace } = pod.metadata;
  const words = ['kubectl', 'debug', '-it', pod.metadata.name, `--image=${image}`];
  return (
    <>
      <form
        class="newsession"
        aria-label="Debug container"
        onSubmit={(event) => {
          event.preventDefault();
          void add({ image, command: wordsOf(command), targetContainerName: target || undefined });
        }}
      >
        <Field label="Image" value={image} set={setImage} />
        <Field label="Program" value={command} set={setCommand} />
        <label>
          Beside
          <select value={target} onChange={({ currentTarget }) => setTarget(currentTarget.value)}>
            <option value="">the pod alone</option>
            {containers.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="main" disabled={!image || !command.trim() || name !== undefined}>
          Debug
        </button>
      </form>
      {name !== undefined && (
        <p class="quiet" role="status">
          Waiting for the container {name} to run. It stays with the pod until the pod is deleted.
        </p>
      )}
      {error && <Refusal error={error} what="The container was not added." />}
      <Command
        lines={[
          commandText(
            [...words, ...(target ? [`--target=${target}`] : []), '--', ...wordsOf(command)],
            namespace,
          ),
        ]}
      />
    </>
  );
}

interface DebugContainer {
  readonly image: string;
  readonly command: readonly string[];
  readonly targetContainerName: string | undefined;
}

/** Adds a container to the pod; `name` is that of the one that does not run yet. */
function useDebugContainer({ path, pod, onRunning }: DebugFormProps) {
  const [name, setName] = useState<string>();
  const [error, setError] = useState<Error>();
  const added = containersOf(pod).find((each) => each.name === name);
  useEffect(() => {
    if (!added?.running) return;
    setName(undefined);
    onRunning(added.name);
  }, [added?.running]);
  const add = async (container: DebugContainer): Promise<void> => {
    const wanted = freeName(pod);
    setError(undefined);
    try {
      await ask(`${path}/ephemeralcontainers`, {
        method: 'PATCH',
        contentType: 'application/strategic-merge-patch+json',
        body: { spec: { ephemeralContainers: [{ name: wanted, ...container, stdin: true, tty: true }] } },
      });
      setName(wanted);
    } catch (reason) {
      setError(reason as Error);
    }
  };
  return { name, error, add };
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
}

const Field = ({ label, value, set }: FieldProps) => (
  <label class="wide">
    {label}
    <input
      type="text"
      spellcheck={false}
      autocomplete="off"
      value={value}
      onInput={({ currentTarget }) => set(currentTarget.value)}
    />
  </label>
);

function freeName(pod: ApiObject): string {
  const taken = new Set(containersOf(pod).map(({ name }) => name));
  for (let n = 1; ; n++) if (!taken.has(`debugger-${n}`)) return `debugger-${n}`;
}

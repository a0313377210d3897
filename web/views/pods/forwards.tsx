/**
 * Port-forwards: ports of the server's machine that lead to a port of a pod or service. Only at the local door, where
 * the browser is on the same machine.
 */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { Refusal } from '../../ui/refusal.tsx';

export interface Forward {
  readonly id: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localPort: number;
  readonly open: number;
  readonly total: number;
  readonly error?: string;
}

const path = '/wherry/port-forwards';
const everyMs = 3_000;

/** Whether there are port-forwards here at all. */
export const canForward = (): boolean => location.protocol === 'http:';

export interface ForwardTarget {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

export function useForwards() {
  const [list, setList] = useState<readonly Forward[]>([]);
  const [error, setError] = useState<Error>();
  const read = (): Promise<void> =>
    ask<{ items: Forward[] }>(path).then(
      ({ items }) => setList(items),
      () => undefined,
    );
  useEffect(() => {
    if (!canForward()) return;
    void read();
    const timer = setInterval(() => document.visibilityState === 'visible' && void read(), everyMs);
    return () => clearInterval(timer);
  }, []);
  const change = async (work: () => Promise<unknown>): Promise<void> => {
    setError(undefined);
    await work().catch(setError);
    await read();
  };
  return {
    list,
    error,
    open: ({ resource, namespace, name }: ForwardTarget, port: number) =>
      change(() =>
        ask(path, {
          method: 'POST',
          query: { namespace, [resource === 'services' ? 'service' : 'pod']: name, port },
        }),
      ),
    close: (id: string) => change(() => ask(`${path}/${encodeURIComponent(id)}`, { method: 'DELETE' })),
  };
}

export type Forwards = ReturnType<typeof useForwards>;

/** The port-forwards that are open on this machine, whatever they lead to, and a field for a port that is not named. */
export function ForwardPanel({
  forwards,
  target,
}: {
  readonly forwards: Forwards;
  readonly target: ForwardTarget;
}) {
  const [port, setPort] = useState('');
  return (
    <section class="panel whole">
      <h2>Port-forwards of this machine</h2>
      {forwards.error && <Refusal error={forwards.error} what="That did not work." />}
      {forwards.list.length === 0 && <p class="quiet">None is open.</p>}
      <ul class="forwards">
        {forwards.list.map((forward) => (
          <ForwardLine key={forward.id} forward={forward} forwards={forwards} />
        ))}
      </ul>
      {target.resource === 'pods' && (
        <form
          class="newsession"
          onSubmit={(event) => {
            event.preventDefault();
            void forwards.open(target, Number(port));
          }}
        >
          <label>
            Another port of this pod{' '}
            <input
              type="number"
              min="1"
              max="65535"
              required
              value={port}
              onInput={({ currentTarget }) => setPort(currentTarget.value)}
            />
          </label>{' '}
          <button type="submit">Forward</button>
        </form>
      )}
    </section>
  );
}

function ForwardLine({ forward, forwards }: { readonly forward: Forward; readonly forwards: Forwards }) {
  const { id, resource, namespace, name, port, localPort, open, total, error } = forward;
  const address = `127.0.0.1:${localPort}`;
  return (
    <li>
      <a href={`http://${address}/`} target="_blank" rel="noopener noreferrer">
        {address}
      </a>{' '}
      to {port} of {resource === 'services' ? 'service' : 'pod'} {namespace}/{name}{' '}
      <span class="quiet">
        {open} open, {total} in all
      </span>{' '}
      <button type="button" aria-label={`Close ${address}`} onClick={() => void forwards.close(id)}>
        Close
      </button>
      {error && <div class="bad">{error}</div>}
    </li>
  );
}

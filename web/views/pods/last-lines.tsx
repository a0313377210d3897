/** The last lines of the log of a container that failed. */
import { useEffect, useState } from 'preact/hooks';
import { askText } from '../../core/api.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import { moment } from '../../core/moment.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import { may } from '../../core/rights.ts';
import { Link, objectPlace } from '../../ui/link.tsx';

const lines = 10;
/** Programs colour their output for terminals. */
const colours = /\u001b\[[\d;]*m/g;

interface LastLinesProps {
  readonly pod: ApiObject;
  readonly status: Json;
}

/** Which run of a container has the words that matter; undefined when it is well, or has not run. */
function runOf({
  state,
  lastState,
  ready,
}: Json): { readonly id: string; readonly previous: boolean } | undefined {
  if (state?.terminated?.exitCode) return { id: state.terminated.containerID ?? '', previous: false };
  if (state?.waiting && lastState?.terminated?.containerID)
    return { id: lastState.terminated.containerID, previous: true };
  return state?.running && ready === false ? { id: state.running.startedAt, previous: false } : undefined;
}

export function LastLines({ pod, status }: LastLinesProps) {
  const { namespace, name } = pod.metadata;
  const kind = kindOf('pods')!;
  const run = runOf(status);
  const isAsked =
    run !== undefined && moment.value === undefined && may('get', kind, { namespace, subresource: 'log' });
  const [text, setText] = useState<string>();
  useEffect(() => {
    setText(undefined);
    if (!isAsked) return;
    const stop = new AbortController();
    const query = { container: status.name, tailLines: lines, ...(run.previous ? { previous: 'true' } : {}) };
    askText(`${pathOf(kind, namespace, name)}/log`, { query, signal: stop.signal }).then(
      (log) => setText(log.replace(colours, '').trimEnd()),
      () => undefined,
    );
    return () => stop.abort();
  }, [isAsked, run?.id, run?.previous]);
  if (!text) return null;
  return (
    <figure class="lastlines">
      <figcaption class="quiet">
        Last lines{run?.previous ? ' of the run before' : ''} ·{' '}
        <Link to={objectPlace(kind, namespace, name)} query={{ tab: 'logs' }}>
          all logs
        </Link>
      </figcaption>
      <pre>{text}</pre>
    </figure>
  );
}

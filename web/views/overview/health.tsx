/** Whether the server says that it is well, check by check. */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, ask, askText } from '../../core/api.ts';
import { connection } from '../../core/connection.ts';

interface Check {
  readonly name: string;
  readonly ok: boolean;
}

const everyMs = 5_000;

export function Health() {
  const [checks, setChecks] = useState<readonly Check[]>([]);
  const [version, setVersion] = useState('');
  const state = connection.value;
  useEffect(() => {
    const look = async (): Promise<void> => {
      const text = await askText('/readyz', { query: { verbose: true } }).catch((error: Error) =>
        error instanceof ApiError ? error.message : undefined,
      );
      if (text !== undefined) setChecks(checksOf(text));
    };
    void look();
    void ask<{ gitVersion?: string }>('/version').then(
      ({ gitVersion = '' }) => setVersion(gitVersion),
      () => undefined,
    );
    const timer = setInterval(() => document.visibilityState === 'visible' && void look(), everyMs);
    return () => clearInterval(timer);
  }, [state]);
  const failed = checks.filter(({ ok }) => !ok);
  const well = failed.length === 0;
  return (
    <section class="panel">
      <h2>Health</h2>
      <p class="headline">
        <span class={`badge ${state === 'lost' || !well ? 'bad' : 'good'}`}>
          {state === 'lost' ? 'no answer' : well ? 'all is well' : `${failed.length} checks fail`}
        </span>{' '}
        <span class="quiet">{version}</span>
      </p>
      <ul class="checks">
        {checks.map(({ name, ok }) => (
          <li key={name}>
            <span class={ok ? 'good' : 'bad'} aria-hidden="true">
              {ok ? '✓' : '✗'}
            </span>{' '}
            {name} {!ok && <span class="bad">fails</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Lines such as `[+]ping ok` and `[-]etcd failed: reason withheld`. */
export const checksOf = (text: string): Check[] =>
  [...text.matchAll(/^\[([+-])\](\S+)/gm)].map(([, sign, name]) => ({ name: name!, ok: sign === '+' }));

/** Whether the server itself is well, as a small mark; its checks one by one when it is opened. */
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
  const failed = checks.filter(({ ok }) => !ok).length;
  const isWell = state !== 'lost' && failed === 0;
  return (
    <details class="health">
      <summary>
        <span class={`badge ${isWell ? 'good' : 'bad'}`}>{healthText(state === 'lost', failed)}</span>
      </summary>
      <div class="panel">
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
        <p class="quiet">{version}</p>
      </div>
    </details>
  );
}

function healthText(isLost: boolean, failed: number): string {
  if (isLost) return 'server does not answer';
  if (failed === 0) return 'server is healthy';
  return failed === 1 ? '1 check of the server fails' : `${failed} checks of the server fail`;
}

/** Lines such as `[+]ping ok` and `[-]etcd failed: reason withheld`. */
const checksOf = (text: string): Check[] =>
  [...text.matchAll(/^\[([+-])\](\S+)/gm)].map(([, sign, name]) => ({ name: name!, ok: sign === '+' }));

/** Asks a running server what is not well, for people and scripts. */
import { StartError } from '../shared/start-error.ts';
import { terminalText } from '../shared/terminal-text.ts';

const answerMaxMs = 60_000;

export interface ProblemsQuestion {
  readonly server: string;
  readonly namespace: string | undefined;
  /** `json`: the answer of the server as it is. */
  readonly format: 'text' | 'json';
}

interface ProblemList {
  readonly message?: string;
  readonly items?: readonly {
    readonly severity: string;
    readonly message: string;
    readonly changed?: string;
    readonly affects?: readonly {
      readonly kind: string;
      readonly namespace?: string;
      readonly name: string;
    }[];
  }[];
}

export async function askProblems({
  server,
  namespace,
  format,
}: ProblemsQuestion): Promise<{ readonly text: string; readonly hasErrors: boolean }> {
  const url = new URL('/wherry/problems', server);
  if (namespace) url.searchParams.set('namespace', namespace);
  const answer = await fetch(url, { signal: AbortSignal.timeout(answerMaxMs) }).catch((error: Error) => {
    throw new StartError(`${server} cannot be reached: ${error.message}`, { cause: error });
  });
  const body = await answer.text();
  const list = parsed(body);
  if (!answer.ok || !list.items)
    throw new StartError(`${server} tells no problems: ${list.message ?? `it answered ${answer.status}`}`);
  const hasErrors = list.items.some(({ severity }) => severity === 'error');
  return { text: format === 'json' ? `${body.trimEnd()}\n` : textOf(list.items), hasErrors };
}

function parsed(text: string): ProblemList {
  try {
    return JSON.parse(text) as ProblemList;
  } catch {
    return {};
  }
}

/** Messages hold what programs wrote. */
function textOf(items: NonNullable<ProblemList['items']>): string {
  if (items.length === 0) return 'No problems.\n';
  return items
    .map(({ severity, message, changed = '-', affects = [] }) => {
      const names = affects.map(
        ({ kind, namespace, name }) => `${kind} ${namespace ? `${namespace}/` : ''}${name}`,
      );
      const lines = [`${changed}  ${severity.padEnd(7)}  ${message}`];
      if (names.length) lines.push(`    affects ${names.join(', ')}`);
      return lines.map((line) => `${terminalText(line)}\n`).join('');
    })
    .join('');
}

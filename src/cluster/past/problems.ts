/** Asks a running server what is not well, for people and scripts. */
import { StartError } from '../shared/start-error.ts';
import { terminalJson, terminalText } from '../shared/terminal-text.ts';
import { AskedServer, type ServerChoice } from './asked-server.ts';

export interface ProblemsQuestion extends ServerChoice {
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
  namespace,
  format,
  ...choice
}: ProblemsQuestion): Promise<{ readonly text: string; readonly hasErrors: boolean }> {
  const server = new AskedServer(choice);
  const query = namespace ? `?namespace=${encodeURIComponent(namespace)}` : '';
  const answer = (await server.get(`/wherry/problems${query}`)) as ProblemList;
  const { items, message } = answer;
  if (!items) throw new StartError(`${server.url} tells no problems${message ? `: ${message}` : ''}`);
  const hasErrors = items.some(({ severity }) => severity === 'error');
  return { text: format === 'json' ? terminalJson(answer) : textOf(items), hasErrors };
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

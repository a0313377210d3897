/** Requests to a cluster of this user, by commands that look after it. */

const answerCharsMax = 1_000_000;

export interface Asking {
  readonly method?: string;
  /** How long the answer may take. */
  readonly maxMs: number;
  /** For the secure door. Default: only the server's own word is wanted, so its certificate is not checked. */
  readonly trust?: { readonly ca?: string; readonly cert: string; readonly key: string } | undefined;
}

export async function ask(
  url: URL,
  { method = 'GET', maxMs, trust }: Asking,
): Promise<{ status: number; text: string }> {
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const how = {
    method,
    signal: AbortSignal.timeout(maxMs),
    ...(trust ?? { rejectUnauthorized: false }),
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, how, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += text.length < answerCharsMax ? part : '';
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      answer.on('error', reject);
    });
    sent.on('error', reject).end();
  });
}

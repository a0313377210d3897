/** The kubectl command that does the same, to copy. */
import { useState } from 'preact/hooks';

const saidMs = 1_500;

/**
 * Splits a command so that lines break between words; browsers would also break `--namespace` after its first hyphen.
 */
const words = (line: string) =>
  line.split(/( )/).map((word, i) => (
    <span key={i} class={word === ' ' ? undefined : 'word'}>
      {word}
    </span>
  ));

export function Command({ lines }: { readonly lines: readonly string[] }) {
  const [copied, setCopied] = useState(false);
  const text = lines.join('\n');
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), saidMs);
  };
  return (
    <div class="command">
      <pre tabIndex={0} role="region" aria-label="Command">
        {text.includes('\n') ? text : words(text)}
      </pre>
      <button type="button" onClick={() => void copy()}>
        {copied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}

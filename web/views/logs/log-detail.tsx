/** One line in full. */
import { fieldsOf, type LogLine } from './log-line.ts';

interface LogDetailProps {
  readonly line: LogLine;
  readonly onClose: () => void;
}

export function LogDetail({ line, onClose }: LogDetailProps) {
  const fields = fieldsOf(line);
  return (
    <section class="panel logdetail" aria-label="Line">
      <div class="logfoot">
        <span class="quiet">
          {line.time} {line.container}
        </span>
        <span class="gap" />
        <button type="button" class="plain" aria-label="Close the line" onClick={onClose}>
          ✕
        </button>
      </div>
      <pre tabIndex={0} role="region" aria-label="Line">
        {fields ? JSON.stringify(fields, null, 2) : line.text}
      </pre>
    </section>
  );
}

/** The lines in sight. All lines have the same height, so 100,000 of them need no measuring. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { LogBuffer } from './log-buffer.ts';
import { fieldsOf, type LogLine, valueText } from './log-line.ts';

const lineHeight = 20;
const overscan = 20;
/** How near to its end the list counts as being there. */
const endPixels = 8;

interface LogListProps {
  readonly buffer: LogBuffer;
  readonly columns: readonly string[];
  readonly withTimes: boolean;
  readonly withContainers: boolean;
  readonly toneOf: (container: string) => number;
  readonly search: RegExp | undefined;
  readonly chosen: LogLine | undefined;
  readonly onChoose: (line: LogLine | undefined) => void;
  /** Whether the end is kept in sight. */
  readonly atEnd: boolean;
  readonly onAtEnd: (atEnd: boolean) => void;
}

export function LogList(props: LogListProps) {
  const { buffer, columns, withTimes, withContainers, atEnd, onAtEnd } = props;
  void buffer.version.value;
  const lines = buffer.shown;
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const droppedBefore = useRef(buffer.dropped);

  useLayoutEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() =>
      setSight({ top: element.scrollTop, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // Keep the scroll position when older lines are dropped.
  useLayoutEffect(() => {
    const element = box.current!;
    const gone = buffer.dropped - droppedBefore.current;
    droppedBefore.current = buffer.dropped;
    if (atEnd) element.scrollTop = element.scrollHeight;
    else if (gone > 0) element.scrollTop -= gone * lineHeight;
  });

  const first = Math.max(0, Math.floor(sight.top / lineHeight) - overscan);
  const last = Math.min(lines.length, Math.ceil((sight.top + sight.height) / lineHeight) + overscan);
  return (
    <div
      class="loglist"
      ref={box}
      tabIndex={0}
      role="log"
      aria-label="Log"
      aria-live="off"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        setSight({ top: scrollTop, height: clientHeight });
        onAtEnd(scrollTop + clientHeight >= scrollHeight - endPixels);
      }}
      onKeyDown={(event) => chooseByKey(event, props)}
    >
      <table>
        {columns.length > 0 && (
          <thead>
            <tr>
              {withTimes && <th>time</th>}
              {withContainers && <th>container</th>}
              {columns.map((name) => (
                <th key={name}>{name}</th>
              ))}
              <th>other</th>
            </tr>
          </thead>
        )}
        <tbody>
          <Space lines={first} />
          {lines.slice(first, last).map((line) => (
            <Line key={line.sequence} line={line} {...props} />
          ))}
          <Space lines={lines.length - last} />
        </tbody>
      </table>
    </div>
  );
}

/** Enter chooses the last line in sight; arrows go on from the chosen one, and Escape leaves it. */
function chooseByKey(event: KeyboardEvent, { buffer, chosen, onChoose }: LogListProps): void {
  const element = event.currentTarget as HTMLElement;
  const lines = buffer.shown;
  const end = Math.floor((element.scrollTop + element.clientHeight) / lineHeight);
  const at = chosen ? lines.indexOf(chosen) : Math.min(end, lines.length);
  const step = { ArrowDown: 1, ArrowUp: -1, Enter: chosen ? undefined : -1, Escape: 0 }[event.key];
  if (step === undefined || (!chosen && event.key !== 'Enter')) return;
  event.preventDefault();
  const next = step === 0 ? undefined : lines[Math.min(lines.length - 1, Math.max(0, at + step))];
  onChoose(next);
  if (!next) return;
  const top = lines.indexOf(next) * lineHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + 2 * lineHeight > element.scrollTop + element.clientHeight)
    element.scrollTop = top + 2 * lineHeight - element.clientHeight;
}

/** Stands for the lines above or below those in sight. */
const Space = ({ lines }: { readonly lines: number }) => (
  <tr ref={(row) => void row?.style.setProperty('height', `${lines * lineHeight}px`)} />
);

function Line({
  line,
  columns,
  withTimes,
  withContainers,
  toneOf,
  search,
  chosen,
  onChoose,
}: LogListProps & { readonly line: LogLine }) {
  const fields = columns.length > 0 ? fieldsOf(line) : undefined;
  const rest = fields && Object.entries(fields).filter(([name]) => !columns.includes(name));
  return (
    <tr
      class={`${line === chosen ? 'chosen ' : ''}${toneOfLine(line.text)}`}
      onClick={() => getSelection()?.isCollapsed !== false && onChoose(line === chosen ? undefined : line)}
    >
      {withTimes && <td class="quiet">{clock(line.time)}</td>}
      {withContainers && <td class={`source source${toneOf(line.container)}`}>{line.container}</td>}
      {fields ? (
        <>
          {columns.map((name) => (
            <td key={name}>
              <Marked text={valueText(fields[name])} search={search} />
            </td>
          ))}
          <td class="quiet">
            <Marked
              text={rest!.map(([name, value]) => `${name}=${valueText(value)}`).join(' ')}
              search={search}
            />
          </td>
        </>
      ) : (
        <td colSpan={columns.length + 1}>
          <Marked text={line.text} search={search} />
        </td>
      )}
    </tr>
  );
}

/** `03:04:05.678` of a time; the whole of it is shown with the chosen line. */
const clock = (time: string): string => time.slice(11, 23);

function toneOfLine(text: string): string {
  if (/\b(?:error|fatal|panic|exception)\b/i.test(text)) return 'bad';
  return /\bwarn(?:ing)?\b/i.test(text) ? 'warn' : '';
}

function Marked({ text, search }: { readonly text: string; readonly search: RegExp | undefined }) {
  if (!search) return <>{text}</>;
  const parts: (string | preact.JSX.Element)[] = [];
  let end = 0;
  for (const match of text.matchAll(search)) {
    if (match[0] === '') continue;
    parts.push(text.slice(end, match.index), <mark key={match.index}>{match[0]}</mark>);
    end = match.index + match[0].length;
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  );
}

/** Prints what a run found: figures of each folder, and the server's words for what it refused. */

const wordsMax = 600;
const groupsMax = 200;

const columns = [
  ['folder', ({ name }) => name],
  ['files', ({ found }) => found.files],
  ['objects', ({ run }) => run.others],
  ['definitions', ({ run }) => run.definitions],
  ['skipped', ({ found }) => sum(found.skipped.values())],
  ['unreadable', ({ found }) => found.unreadable.length],
  ['unknown', ({ run }) => sum(run.unknown.values())],
  ['refused', ({ run }) => new Set(run.refused.map(({ object }) => object)).size],
  ['5xx', ({ run }) => run.refused.filter(({ answer }) => isFault(answer)).length],
  ['requests', ({ run }) => run.requests],
  ['seconds', ({ run }) => (run.ms / 1000).toFixed(1)],
  ['processor s', ({ run }) => (run.processorMs / 1000).toFixed(1)],
  ['MB', ({ run }) => run.megabytes.toFixed(0)],
];

/** What Kubernetes, too, answers with 500: an apply that does not fit its schema, a webhook that is not there. */
const refusalsWith500 =
  /^(failed to create typed patch object|failed to convert new object|conversion webhook for |resourceVersion should not be set)/;

/** Whether the server failed, rather than refused. */
export const isFault = ({ status, body }) =>
  status === 0 || (status >= 500 && !refusalsWith500.test(body?.message));

const sum = (numbers) => [...numbers].reduce((total, number) => total + number, 0);

/** The table of all folders. */
export function table(rows) {
  const lines = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, value]) => String(value(row)))),
  ];
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const cell = (text, column) => (column === 0 ? text.padEnd(widths[column]) : text.padStart(widths[column]));
  return lines.map((line) => line.map(cell).join('  ').trimEnd()).join('\n');
}

/** What a folder met, in lines. `all` prints each refusal instead of one for all with the same words. */
export function details({ name, found, run }, all) {
  const lines = [`== ${name}`];
  const counted = (title, counts) => {
    if (counts.size === 0) return;
    lines.push(`${title}: ${[...counts].map(([what, count]) => `${count} ${what}`).join(', ')}`);
  };
  counted('skipped', found.skipped);
  counted('kinds that the server does not serve', run.unknown);
  for (const { file, words } of found.unreadable) lines.push(`unreadable: ${file}: ${words}`);
  const plain = run.refused.filter(({ object }) => !object.hasPlaceholders);
  const filled = run.refused.filter(({ object }) => object.hasPlaceholders);
  lines.push(...groups('refused', plain.map(refusal), all));
  lines.push(...groups('refused, with places to fill in', filled.map(refusal), all));
  lines.push(...groups('differs', run.differences.map(difference), all));
  if (run.slowest) {
    const { object, way, ms } = run.slowest;
    lines.push(`slowest: ${way} ${title(object)}, ${ms.toFixed(0)} ms`);
  }
  return lines.join('\n');
}

const title = ({ value, file }) =>
  [value.kind, value.metadata?.name, value.kind && `(${file})`].filter(Boolean).join(' ') || file;

function refusal({ object, way, answer }) {
  const message = String(answer.body?.message ?? answer.body).slice(0, wordsMax);
  return { object, way, words: `${answer.status} ${message}` };
}

const difference = ({ object, way, difference: words }) => ({ object, way, words });

/** One entry for each sentence, in which the object's own name does not count. */
function groups(heading, entries, all) {
  const found = new Map();
  for (const { object, way, words } of entries) {
    const name = object.value.metadata?.name;
    const alike = name ? words.replaceAll(String(name), '…') : words;
    const key = all ? `${words} ${object.file} ${name}` : alike;
    const group = found.get(key) ?? { words, ways: new Set(), objects: new Set(), first: object };
    group.ways.add(way);
    group.objects.add(object);
    found.set(key, group);
  }
  const lines = [...found.values()].map(({ words, ways, objects, first }) => {
    const more = objects.size > 1 ? ` and ${objects.size - 1} more` : '';
    return `${heading} (${[...ways].join(', ')}): ${title(first)}${more}\n    ${words.replaceAll('\n', '\n    ')}`;
  });
  if (all || lines.length <= groupsMax) return lines;
  return [...lines.slice(0, groupsMax), `… and ${lines.length - groupsMax} other sentences, see --all`];
}

/** What differs between the answers of two servers, apart from what differs between any two clusters. */

const differencesMax = 20;
const wordsMax = 300;

/** Values that each server gives by itself. */
const ownValues = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'time',
  'lastTransitionTime',
  'lastUpdateTime',
  'clusterIP',
  'clusterIPs',
  'nodePort',
  'healthCheckNodePort',
]);
const ownWords = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID'],
  [/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, 'TIME'],
  [/0x[0-9a-f]{8,}/g, 'ADDRESS'],
  [/\?hash=[0-9A-F]+/g, '?hash=HASH'],
];

/** Sentences on what differs, the first server's value first. */
export function differencesOf(one, other, sent) {
  if (one.status !== other.status) return [`${told(one)} ≠ ${told(other)}`];
  const found = [];
  if (masked(one.warnings) !== masked(other.warnings))
    found.push(`warning: ${show(one.warnings)} ≠ ${show(other.warnings)}`);
  const isGenerated = !sent.metadata?.name && Boolean(sent.metadata?.generateName);
  compare(comparable(one, isGenerated), comparable(other, isGenerated), '', found);
  return found;
}

/** What an answer says, without the order of causes and without generated names. */
function comparable({ body, status }, isGenerated) {
  const name = body?.metadata?.name ?? body?.details?.name;
  const named = isGenerated && name ? JSON.parse(JSON.stringify(body).replaceAll(name, 'NAME')) : body;
  const causes = named?.details?.causes;
  if (status < 300 || !Array.isArray(causes)) return named;
  // Go walks maps in any order. The message has the texts of the causes, and nothing else.
  const { message: _, ...rest } = named;
  const text = (cause) => masked(JSON.stringify(cause));
  const inOrder = causes.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  return { ...rest, details: { ...rest.details, causes: inOrder } };
}

/** The status, and the words of a refusal. */
const told = ({ body, status }) =>
  `${status}${status < 300 ? '' : ` ${masked(String(body?.message ?? body)).slice(0, wordsMax)}`}`;

function compare(one, other, path, found) {
  if (found.length === differencesMax) return;
  if (isMap(one) && isMap(other)) {
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      // Both or none have it; the value is each server's own.
      if (ownValues.has(key) && key in one && key in other) continue;
      compare(one[key], other[key], `${path}.${key}`, found);
    }
  } else if (Array.isArray(one) && Array.isArray(other)) {
    for (let index = 0; index < Math.max(one.length, other.length); index += 1)
      compare(one[index], other[index], `${path}[${index}]`, found);
  } else if (masked(JSON.stringify(one) ?? '') !== masked(JSON.stringify(other) ?? '')) {
    found.push(`${path}: ${show(one)} ≠ ${show(other)}`);
  }
}

const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const masked = (text) => ownWords.reduce((result, [pattern, word]) => result.replace(pattern, word), text);

const show = (value) => masked(JSON.stringify(value) ?? 'nothing').slice(0, wordsMax);

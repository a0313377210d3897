/** String formats of schemas, as Kubernetes checks them. Dashes in their names do not count. */
import { isIP, parseCIDR, parseIP } from '../values/addresses.ts';
import { parseDurationMs } from '../values/duration.ts';
import { isLabel1123, isSubdomain1123 } from '../values/names.ts';

type FormatCheck = (text: string) => boolean;

const matches =
  (pattern: RegExp): FormatCheck =>
  (text) =>
    pattern.test(text);

const checks: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['datetime', isDateTime],
  ['date', isDate],
  ['duration', isDuration],
  ['byte', matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/)],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text) => !text.includes(':') && isIP(text).length === 0],
  ['ipv6', (text) => text.includes(':') && parseIP(text) !== undefined],
  ['cidr', (text) => parseCIDR(text) !== undefined],
  ['mac', isMac],
  ['uri', isUri],
  ['uuid', matches(/^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i)],
  ['uuid3', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid4', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['uuid5', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matches(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i)],
  ['rgbcolor', isRgbColor],
  ['bsonobjectid', matches(/^[0-9a-f]{24}$/i)],
  ['password', () => true],
  ['k8sshortname', (text) => isLabel1123(text).length === 0],
  ['k8slongname', (text) => isSubdomain1123(text).length === 0],
]);

const numberFormats: ReadonlyMap<string, string> = new Map([
  ['int32', 'integer'],
  ['int64', 'integer'],
  ['float', 'number'],
  ['double', 'number'],
]);

const plainName = (format: string): string => format.replaceAll('-', '');

/** The check of a string format; undefined when there is no such format. */
export const formatCheck = (format: string): FormatCheck | undefined => checks.get(plainName(format));

/** Whether values are checked against a format; all others are ignored. */
export const isKnownFormat = (format: string): boolean =>
  checks.has(plainName(format)) || numberFormats.has(plainName(format));

/** Whether a format is one of the type's; a definition with another one gets a warning. */
export function isFormatOf(type: string | undefined, format: string): boolean {
  const name = plainName(format);
  if (!type) return isKnownFormat(format);
  return type === 'string' ? checks.has(name) : numberFormats.get(name) === type;
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (!day) return false;
  const lastDay = new Date(Date.UTC(2000, Number(month), 0));
  lastDay.setUTCFullYear(Number(year), Number(month), 0);
  return Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= lastDay.getUTCDate();
}

/** RFC 3339. */
function isDateTime(text: string): boolean {
  const [, date, hours, minutes, seconds] =
    /^(.{10})t(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|[+-]\d\d:\d\d)$/i.exec(text) ?? [];
  return !!date && isDate(date) && Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
}

/** Words that may stand after a number; further letters may follow those that are whole words. */
const durationUnit =
  /^(?:ns|nano.*|us|\u00b5s|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i;

/** A duration of Go, or numbers with units up to weeks, of which at least one is known. */
function isDuration(text: string): boolean {
  if (parseDurationMs(text) !== undefined) return true;
  if (!/^\s*(?:\d+\s*[A-Za-z\u00b5]+\s*)+$/.test(text)) return false;
  return text.match(/[A-Za-z\u00b5]+/g)!.some((unit) => durationUnit.test(unit));
}

const emailCharsMax = 1000;

/** An address with or without a name: `a@b.c`, `Ann <a@b.c>`. */
function isEmail(text: string): boolean {
  if (text.length > emailCharsMax) return false;
  const address = /^[^<>@]*<([^<>]+)>$/.exec(text.trim())?.[1] ?? text.trim();
  const at = address.lastIndexOf('@');
  const atoms = /^[^\s()<>[\]:;@\\,."]+(?:\.[^\s()<>[\]:;@\\,."]+)*$/;
  const local = address.slice(0, at);
  const domain = address.slice(at + 1);
  return (
    at > 0 &&
    (atoms.test(local) || /^"(?:[^"\\\r\n]|\\.)*"$/.test(local)) &&
    (atoms.test(domain) || /^\[[^\s[\]\\]+\]$/.test(domain))
  );
}

const hostnameBytesMax = 255;
const hostLabelBytesMax = 63;

function isHostname(text: string): boolean {
  if (text.length > hostnameBytesMax || Buffer.byteLength(text) > hostnameBytesMax) return false;
  const labels = text.split('.');
  return labels.every(
    (label, i) =>
      /^[a-z0-9\p{S}\p{L}](?:[-a-z0-9\p{S}\p{L}]*[a-z0-9\p{S}\p{L}])?$/iu.test(label) &&
      Buffer.byteLength(label) <= hostLabelBytesMax &&
      (i === 0 || i < labels.length - 1 || label.length > 1),
  );
}

/** 6, 8 or 20 bytes, separated by `:` or `-`, or in pairs by `.`. */
function isMac(text: string): boolean {
  const pairs = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2})*$/i.test(text);
  const bytes = pairs
    ? (text.length + 1) / 3
    : /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i.test(text)
      ? ((text.length + 1) / 5) * 2
      : 0;
  return bytes === 6 || bytes === 8 || bytes === 20;
}

/** A URL with a scheme, or an absolute path. */
function isUri(text: string): boolean {
  if (/[\u0000-\u001f\u007f]/.test(text)) return false;
  const rest = text.replace(/^[a-zA-Z][a-zA-Z0-9+.-]*:/, '');
  if (!rest.startsWith('/')) return false;
  const [path = ''] = rest.split('?', 1);
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return false;
  if (!path.startsWith('//') || rest === text) return true;
  const host = path.slice(2).split('/', 1)[0]!;
  return !/[ <>"\\^`{|}]/.test(host) && hasGoodPort(host.slice(host.lastIndexOf('@') + 1));
}

/** What follows the last colon, if that is not inside of brackets, is a number. */
function hasGoodPort(host: string): boolean {
  const colon = host.lastIndexOf(':');
  if (colon < 0) return true;
  const port = host.slice(colon + 1);
  return port.includes(']') || !/\D/.test(port);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, i) => total + (10 - i) * (digit === 'X' ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, i) => total + Number(digit) * (i % 2 ? 3 : 1), 0) % 10 === 0;
}

/** The length of a card number, and its check digit. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '');
  if (!/^\d{13,19}$/.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = Number(digit) * (i % 2 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text)?.slice(1);
  return !!parts?.every((part) => Number(part) <= 255 && (part === '0' || !part.startsWith('0')));
}

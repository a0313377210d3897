/**
 * Loaded before a program: YAML has Windows' ends of lines wherever it enters. In files that it writes as text, be it by
 * their name or because they begin as objects of the API do (so a kubeconfig), in files that it reads, and in bodies of
 * requests that it sends.
 */
const fs = require('node:fs');
const { ClientRequest } = require('node:http');
const { syncBuiltinESMExports } = require('node:module');

const isYaml = (file) => /\.ya?ml$/.test(String(file));
const withEnds = (text) => text.replaceAll(/\r?\n/g, '\r\n');
const hasEnds = (file, text) => typeof text === 'string' && (isYaml(file) || /^apiVersion: /m.test(text));
/** What was read, a text or bytes; those of UTF-16 stay. */
const convert = (file, read) => {
  if (!isYaml(file) || read.includes('\0')) return read;
  return typeof read === 'string' ? withEnds(read) : Buffer.from(withEnds(read.toString('latin1')), 'latin1');
};

for (const holder of [fs, fs.promises])
  for (const name of ['writeFileSync', 'writeFile']) {
    const write = holder[name];
    if (write)
      holder[name] = (file, text, ...rest) =>
        write.call(holder, file, hasEnds(file, text) ? withEnds(text) : text, ...rest);
  }
const { readFileSync } = fs;
fs.readFileSync = (file, ...rest) => convert(file, readFileSync(file, ...rest));
const { readFile } = fs.promises;
fs.promises.readFile = async (file, ...rest) => convert(file, await readFile(file, ...rest));

const { end } = ClientRequest.prototype;
ClientRequest.prototype.end = function (body, ...rest) {
  const isSent = typeof body === 'string' && /yaml/.test(String(this.getHeader('content-type')));
  if (!isSent) return end.call(this, body, ...rest);
  const text = withEnds(body);
  if (this.hasHeader('content-length') && !this.headersSent)
    this.setHeader('content-length', Buffer.byteLength(text));
  return end.call(this, text, ...rest);
};
syncBuiltinESMExports();

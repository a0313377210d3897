/** Loaded before a program: files with YAML that it writes as text have Windows' ends of lines. */
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

const isYaml = (file) => /\.ya?ml$/.test(String(file));
const withEnds = (file, text) =>
  typeof text === 'string' && isYaml(file) ? text.replaceAll(/\r?\n/g, '\r\n') : text;

for (const holder of [fs, fs.promises])
  for (const name of ['writeFileSync', 'writeFile']) {
    const write = holder[name];
    if (write)
      holder[name] = (file, text, ...rest) => write.call(holder, file, withEnds(file, text), ...rest);
  }
syncBuiltinESMExports();

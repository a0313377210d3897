/** Plain requests, sent by `wrk` from a separate process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A wrk script that builds each request with a Lua function body; `n` counts up, `id` distinguishes runs. */
function script(body) {
  const file = path.join(tmpdir(), `wherry-wrk-${process.pid}-${Math.random().toString(36).slice(2)}.lua`);
  writeFileSync(
    file,
    `local n = 0\nlocal id = "${Date.now().toString(36)}"\nrequest = function()\nn = n + 1\n${body}\nend\n`,
  );
  return file;
}

/** Requests per second, and median and 99th percentile in milliseconds. Throws if an answer is not 2xx. */
export async function measure(url, { connections, seconds, lua }) {
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}`,
    '--latency',
    ...(lua ? ['-s', script(lua)] : []),
    url,
  ];
  const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (data) => {
    text += data;
  });
  const [code] = await once(child, 'exit');
  if (code !== 0 || /Non-2xx/.test(text)) throw new Error(`wrk ${args.join(' ')}:\n${text}`);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)[1]),
    p50Ms: milliseconds(/50%\s+([\d.]+\w+)/.exec(text)?.[1]),
    p99Ms: milliseconds(/99%\s+([\d.]+\w+)/.exec(text)?.[1]),
  };
}

function milliseconds(text) {
  const [, number, unit] = /([\d.]+)(\w+)/.exec(text ?? '0ms');
  return Number(number) * { us: 0.001, ms: 1, s: 1000, m: 60_000 }[unit];
}

/** Lua that asks for an answer in a form. */
export const acceptLua = (accept) => `return wrk.format("GET", nil, {["Accept"]="${accept}"})`;

/** Lua that creates pods with unique names. */
export function createLua(pod) {
  const [before, after] = JSON.stringify(pod).split('@NAME@');
  return `return wrk.format("POST", nil, {["Content-Type"]="application/json"}, ${JSON.stringify(before)} .. id .. "-" .. n .. ${JSON.stringify(after)})`;
}

/** Lua for a merge patch that changes a value every time. */
export function patchLua(path) {
  return `return wrk.format("PATCH", ${JSON.stringify(path)} .. string.format("%06d", n % 100), {["Content-Type"]="application/merge-patch+json"}, '{"metadata":{"annotations":{"n":"' .. id .. n .. '"}}}')`;
}

/** Lua for an apply that changes a value every time. */
export function applyLua(path) {
  return `return wrk.format("PATCH", ${JSON.stringify(path)} .. string.format("%06d", n % 100) .. "?fieldManager=bench", {["Content-Type"]="application/apply-patch+yaml"}, '{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"applied":"' .. id .. n .. '"}}}')`;
}

/** Lua that deletes numbered objects, each once. */
export function deleteLua(path) {
  return `return wrk.format("DELETE", ${JSON.stringify(path)} .. string.format("%06d", n - 1))`;
}

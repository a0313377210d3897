/** The yardstick: a bare `node:http` server that answers every request with a given number of bytes. */
import { createServer } from 'node:http';

const body = Buffer.alloc(Number(process.argv[2]), 'a');
const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
const server = createServer((_request, response) => {
  response.writeHead(200, headers);
  response.end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));

/**
 * A plain TCP server: the yardstick of streams, and the server in pods that ports are forwarded to. The
 * client's first line says what it wants: `zeros N` gets N bytes, `sink` is read to its end and then answered
 * with `done`. Its argument is the address to listen at.
 */
import { createServer } from 'node:net';

const chunk = Buffer.alloc(64 * 1024);

function pour(socket, bytes) {
  let left = bytes;
  const go = () => {
    while (left > 0) {
      const piece = left >= chunk.length ? chunk : chunk.subarray(0, left);
      left -= piece.length;
      if (!socket.write(piece)) return socket.once('drain', go);
    }
    socket.end();
  };
  go();
}

const server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (first) => {
    const [wish, count] = String(first.subarray(0, first.indexOf(10))).split(' ');
    if (wish === 'zeros') pour(socket, Number(count));
    else socket.on('end', () => socket.end('done'));
    socket.resume();
  });
});
server.listen(0, process.argv[2], () => console.log(`port ${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));

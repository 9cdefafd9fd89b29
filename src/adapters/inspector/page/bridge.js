/* Passes the relay's messages to Stately's inspector in a frame, once a person agrees. */

const STATELY_ORIGIN = 'https://stately.ai';
const [button, status] = ['button', '[role=status]'].map((each) => document.querySelector(each));
const frame = document.createElement('iframe');
frame.title = 'Stately inspector';
frame.width = '100%';
frame.height = String(Math.max(400, innerHeight - 60));
let socket;

button.addEventListener('click', () => {
  frame.src = `${STATELY_ORIGIN}/inspect`;
  status.textContent = 'Waiting for stately.ai';
  document.body.replaceChildren(status, frame);
});

/** The inspector reports that it listens; the relay then sends everything that exists. */
addEventListener('message', ({ origin, source, data }) => {
  if (origin !== STATELY_ORIGIN || source !== frame.contentWindow) return;
  if (data?.type !== '@statelyai.connected') return;
  socket?.close();
  socket = new WebSocket(`ws://${location.host}/${location.search}`);
  socket.addEventListener('open', () => (status.textContent = 'Live'));
  socket.addEventListener('message', (message) =>
    frame.contentWindow.postMessage(JSON.parse(message.data), STATELY_ORIGIN),
  );
  socket.addEventListener('close', ({ reason, target }) => {
    if (target === socket)
      status.textContent = reason || 'The daemon has ended; load this page again';
  });
});

import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenAt, type Network } from '../../../../src/simulator/listen.ts';

export interface PeerRequest {
  readonly line: string;
  readonly body: string;
  readonly authorization: string | undefined;
}
export interface PeerAnswer {
  readonly status: number;
  /** JSON, or a text as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server that answers as a test says, for what an honest account never answers. */
export interface Peer {
  readonly url: string;
  readonly seen: readonly PeerRequest[];
  /** Decides from now on. */
  answers: (request: PeerRequest) => PeerAnswer;
  lines(): string[];
  close(): Promise<void>;
}

export async function startPeer(answers: Peer['answers'], network: Network): Promise<Peer> {
  const seen: PeerRequest[] = [];
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const { authorization } = req.headers;
      const request = { line: `${req.method} ${req.url}`, body, authorization };
      seen.push(request);
      const { status, body: answer, headers } = peer.answers(request);
      const isText = typeof answer === 'string' || answer === undefined;
      res.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      res.end(isText ? answer : JSON.stringify(answer));
    });
  });
  const { port, close } = await listenAt(server, { host: '127.0.0.1', port: 0, network });
  const peer: Peer = {
    url: `http://127.0.0.1:${port}`,
    seen,
    answers,
    lines: () => seen.map(({ line }) => line),
    close,
  };
  return peer;
}

export const refusal = (status: number, code: string, more: object = {}): PeerAnswer => ({
  status,
  body: { error: { status, code, message: `about ${code}`, ...more } },
});

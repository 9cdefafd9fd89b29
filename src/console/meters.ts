import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../adapters/metrics/port.ts';

/** They last as long as their readers stay, which says nothing of the console. */
const STREAMS = new Set(['/api/v1/stream']);

/**
 * Counts what the console answers, and how long that took. Calls of no route are one, whatever they
 * asked for, so that strangers cannot make series.
 */
export function addMeters(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    const { url: route = 'none' } = request.routeOptions;
    if (STREAMS.has(route)) return;
    const method = request.is404 ? 'any' : request.method;
    const labels = { route, method, status: String(reply.statusCode) };
    metrics.observe('shepherd_http_request_seconds', labels, reply.elapsedTime / 1_000);
  });
}

import { pageSecret } from './page-secret.ts';
import { parseShown } from './shown.ts';

/** Why the console refused a request, in the form of RFC 9457. */
export interface ProblemBody {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly status: number;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  /** With code `changed`: the current state. */
  readonly current?: unknown;
}

/** An answer of the console that reports a failure. */
export class RequestRefusal extends Error {
  readonly problem: ProblemBody;
  constructor(problem: ProblemBody) {
    super(problem.detail);
    this.problem = problem;
  }
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The address of a resource of the API. This function encodes the parts of the path. */
export function addressOf(parts: readonly string[], query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') params.set(name, String(value));
  }
  const path = `/api/v1/${parts.map(encodeURIComponent).join('/')}`;
  return params.size === 0 ? path : `${path}?${params.toString()}`;
}

export interface ApiResponse<Result> {
  readonly answer: Result;
  /** The ETag of the answer. Null: the answer has none. */
  readonly etag: string | null;
  readonly status: number;
}

/** Calls the API. @throws {RequestRefusal} the console refused the call. */
export async function askFor<Result>(
  address: string,
  init: RequestInit,
): Promise<ApiResponse<Result>> {
  const isChange = init.method !== undefined && init.method !== 'GET';
  const headers = { ...(init.headers as Readonly<Record<string, string>>), ...pageSecret() };
  const response = await fetch(address, isChange ? { ...init, headers } : init);
  if (response.ok) {
    const answer = (response.status === 204 ? null : parseShown(await response.text())) as Result;
    return { answer, etag: response.headers.get('etag'), status: response.status };
  }
  throw new RequestRefusal(await problemOf(response));
}

/** Reads one resource. */
export async function read<Result>(address: string, signal: AbortSignal): Promise<Result> {
  return (await askFor<Result>(address, { signal })).answer;
}

/** The failure that this address answers with. Null: it answers with success, or nothing answers. */
export async function refusalOf(address: string): Promise<ProblemBody | null> {
  const leaving = new AbortController();
  try {
    const response = await fetch(address, { signal: leaving.signal });
    return response.ok ? null : await problemOf(response);
  } catch {
    return null;
  } finally {
    leaving.abort();
  }
}

async function problemOf(response: Response): Promise<ProblemBody> {
  const { status, statusText } = response;
  const told = await response.text();
  try {
    const body = parseShown(told) as Partial<ProblemBody>;
    if (typeof body.detail === 'string')
      return { code: '', title: '', status, ...body } as ProblemBody;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { code: 'unreadable', title: statusText, detail: `${status} ${statusText}`, status };
}

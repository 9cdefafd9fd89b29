import type { RefusalText } from '../state/knobs.ts';

/** One error of a document, before it is written. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly title?: string;
  /** Place in the body, such as `/data/attributes/plan`. */
  readonly pointer?: string;
  /** Name of the query's parameter. */
  readonly parameter?: string;
  readonly meta?: object;
}

/** A refusal that the client sees. */
export class ApiError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    problems: readonly Problem[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(problems.map(({ detail }) => detail).join('; '));
    this.status = status;
    this.problems = problems;
    this.headers = headers;
  }
}

/** Errors as documents have them. */
export const errorBody = (status: number, problems: readonly Problem[]): object => ({
  errors: problems.map(({ code, title = 'Error', detail, pointer, parameter, meta = {} }) => ({
    ...{ code, status: String(status), title, detail },
    ...(pointer !== undefined && { source: { pointer } }),
    ...(parameter !== undefined && { source: { parameter } }),
    meta,
  })),
});

export const refusal = (status: number, code: string, detail: string): ApiError =>
  new ApiError(status, [{ code, detail }]);
export const refusalBy = ({ status, ...problem }: RefusalText): ApiError =>
  new ApiError(status, [problem]);

export const notFound = (): ApiError => refusal(404, 'not_found', 'Specified Record Not Found');

export const INVALID = 'VALIDATION_ERROR';
/** Something in the body's attributes. */
export const invalid = (attribute: string, detail: string): Problem => ({
  ...{ code: INVALID, detail, pointer: `/data/attributes/${attribute}` },
});
export const badParameter = (parameter: string, detail: string): ApiError =>
  new ApiError(400, [{ code: 'BAD_REQUEST', detail, parameter }]);

/** A refusal that the client sees. */
export class ApiError extends Error {
  readonly status: number;
  readonly validation: Readonly<Record<string, string>>;
  constructor(status: number, message: string, validation: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.validation = validation;
  }
}

export const errorBody = (status: number, message: string, validation: object = {}): object => ({
  error: { code: status, message, validation },
  debug: { source: 'fakengine' },
});

/** A command line as a tree: what a POSIX shell reads, without job control. */

export type Part =
  | { readonly kind: 'text'; readonly text: string; readonly isQuoted: boolean }
  | {
      readonly kind: 'parameter';
      readonly name: string;
      /** Such as `:-` or `%%`; `#` before the name is `length`. */
      readonly operator: string | null;
      readonly operand: Word;
      readonly isQuoted: boolean;
    }
  | { readonly kind: 'command'; readonly body: List; readonly isQuoted: boolean }
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly isQuoted: boolean };
export type Word = readonly Part[];

export interface Redirect {
  readonly descriptor: number;
  /** `<<` has its text as target. */
  readonly operator: '<' | '>' | '>>' | '>|' | '<&' | '>&' | '<<' | '<<<' | '&>';
  readonly target: Word;
}
export interface Assignment {
  readonly name: string;
  readonly value: Word;
}

export interface Simple {
  readonly kind: 'simple';
  readonly assignments: readonly Assignment[];
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
}
export type Compound = { readonly redirects: readonly Redirect[] } & (
  | { readonly kind: 'group' | 'subshell'; readonly body: List }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly test: List; readonly body: List }[];
      readonly otherwise: List | null;
    }
  | { readonly kind: 'while' | 'until'; readonly test: List; readonly body: List }
  | {
      readonly kind: 'for';
      readonly name: string;
      /** Null: the arguments. */
      readonly words: readonly Word[] | null;
      readonly body: List;
    }
  | {
      readonly kind: 'case';
      readonly word: Word;
      readonly clauses: readonly { readonly patterns: readonly Word[]; readonly body: List }[];
    }
);
export interface FunctionDefinition {
  readonly kind: 'function';
  readonly name: string;
  readonly body: Command;
}
export type Command = Simple | Compound | FunctionDefinition;

export interface Pipeline {
  readonly isNegated: boolean;
  readonly commands: readonly Command[];
}
export interface AndOr {
  readonly first: Pipeline;
  readonly rest: readonly { readonly operator: '&&' | '||'; readonly pipeline: Pipeline }[];
}
export interface ListItem {
  readonly command: AndOr;
  readonly isBackground: boolean;
}
export type List = readonly ListItem[];

/** What a shell would not understand either, or what is not played here. */
export class SyntaxProblem extends Error {}

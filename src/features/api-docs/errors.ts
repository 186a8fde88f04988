import { Problem } from '../../errors/problem.js';

/** The optional package of a page is not installed. */
export const noDocsPage = (name: string) =>
  new Problem(404, 'NOT_FOUND', `This page needs the package ${name}: npm install ${name}.`);

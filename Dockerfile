FROM node:22.23.3-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# With the optional packages: the bundler's program is one of them.
RUN ["npm", "ci", "--ignore-scripts"]
COPY tsconfig.json ./
COPY .ci/bundle.js .ci/start.cjs .ci/
COPY src src
COPY sql sql
COPY collections collections
COPY schema schema
RUN ["npm", "run", "bundle"]

FROM node:22.23.3-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=build /app/dist/plinth.cjs /app/dist/plinth.cache /app/dist/start.cjs /app/dist/health.cjs /app/dist/mcp-sdk.cjs dist/
# Verifies imported passwords: its programs cannot be in the bundle. They come with the package.
COPY --from=build /app/node_modules/bcrypt node_modules/bcrypt
COPY --from=build /app/node_modules/node-gyp-build node_modules/node-gyp-build
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["node", "dist/health.cjs"]
CMD ["node", "dist/start.cjs"]
